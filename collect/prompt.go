package collect

import (
	"bytes"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// prompt reads what stands between outputs and says whose they are:
//
//	root@node1:~# ethtool -S ens3np0           a shell's prompt with the command
//	[user@node1 ~]$ ibstat
//	$ ibstat
//	node1$ ibstat, node1:~# ibstat             the same without a user
//	==> node1/ibstat.txt <==                   head and tail, between files
//	+ ibstat                                   bash -x
//	leaf1#show priority-flow-control counters  a switch's (NX-OS, EOS)
//	/sys/class/net/ens3np0/mtu                 for f in ...; do echo $f; cat $f; done
//	ens3np0                                    for i in ...; do echo $i; ethtool -S $i; done
//
// The output before is over. A command that sets variables, runs a job or a test is an input itself.
func (p *pile) prompt(line []byte, n int) bool {
	if name, ok := bytes.CutPrefix(line, []byte("==> ")); ok {
		if name, ok = bytes.CutSuffix(name, []byte(" <==")); ok {
			p.section("").end()
			if p.pasting(string(name)) {
				return true
			}
			if p.f.Host, p.f.Device = hostOf(string(name)), deviceOf(string(name)); p.f.Host == "" {
				p.f.Host = p.own
			}
			p.host(p.f.Host)
			return true
		}
	}
	if len(line) > 0 && line[0] == '/' && p.pasting(string(line)) {
		p.section("").end()
		return true
	}
	if bytes.IndexByte(line, ' ') < 0 && bytes.IndexByte(line, '\t') < 0 && deviceLike(string(line)) {
		p.section("").end()
		p.f.Device = string(line)
		return true
	}
	host, command, ok := splitPrompt(line)
	if !ok {
		return false
	}
	p.section("").end()
	if host != "" {
		p.f.Host = host
		p.host(host)
	}
	if p.f.Device = commandDevice(command); p.f.Device == "" {
		p.f.Device = p.device
	}
	if name, ok := strings.CutPrefix(command, "cat "); ok && p.pasting(strings.TrimSpace(name)) {
		return true
	}
	if k := detect([]byte(command)); k >= 0 {
		p.section("").line(p, k, []byte(command), n)
		return true
	}
	return true
}

// commandDevice is the device a command is about, "" where it names none: the outputs of ethtool -i and -m, mlnx_qos,
// mlxlink and others do not repeat it.
func commandDevice(command string) string {
	words := strings.Fields(command)
	for i := len(words) - 1; i > 0; i-- {
		if w := words[i]; deviceLike(w) {
			return w
		}
		if words[i-1] == "-d" {
			if address := evidence.PCIAddress(words[i]); address != "" { // mlxlink -d 5c:00.0
				return address
			}
		}
	}
	return ""
}

// splitPrompt takes a prompt and its command apart; ok is false for any other line.
func splitPrompt(line []byte) (host, command string, ok bool) {
	if rest, ok := bytes.CutPrefix(line, []byte("+ ")); ok { // what bash -x prints; "+ " begins other lines too
		return "", string(rest), commandDevice(string(rest)) != ""
	}
	if name, command, ok := switchPrompt(line); ok {
		return short(name), command, true
	}
	window := line[:min(len(line), maxPrompt)] // of every line, and most are no prompts
	i := bytes.IndexByte(window, '$')
	if j := bytes.IndexByte(window[:max(i, 0)], '#'); i < 0 {
		i = bytes.IndexByte(window, '#')
	} else if j >= 0 {
		i = j
	}
	if i < 0 || i+1 >= len(line) || line[i+1] != ' ' {
		return "", "", false
	}
	before, command := string(line[:i]), strings.TrimSpace(string(line[i+2:]))
	if line[i] == '#' && before == "" {
		return "", "", false // a comment, as in the tables of nccl-tests
	}
	if before == "" {
		return "", command, command != ""
	}
	_, after, at := strings.Cut(before, "@")
	if !at { // "node1$ ibstat", "node1:~# ibstat"
		name, dir, _ := strings.Cut(before, ":")
		if !hostLike(name) || strings.ContainsAny(name, " \t=") || dir != "" && dir[0] != '~' && dir[0] != '/' {
			return "", "", false
		}
		after = before
	}
	host = after
	if j := strings.IndexAny(after, ":] "); j >= 0 {
		host = after[:j]
	}
	host = short(host)
	return host, command, command != "" && host != ""
}

// switchPrompt takes the prompt of a switch and its command apart: "leaf1# show queuing interface", "leaf1>show ...". Such
// a prompt has a name alone, and is told by the word that all of these commands begin with.
func switchPrompt(line []byte) (name, command string, ok bool) {
	i := 0
	for i < len(line) && i < maxName && (letter(line[i]) || i > 0 && (line[i] >= '0' && line[i] <= '9' || line[i] == '-' || line[i] == '_' || line[i] == '.')) {
		i++
	}
	if i == 0 || i == len(line) || line[i] != '#' && line[i] != '>' {
		return "", "", false
	}
	rest := bytes.TrimLeft(line[i+1:], " ")
	if !bytes.HasPrefix(rest, []byte("show ")) {
		return "", "", false
	}
	return string(line[:i]), strings.TrimSpace(string(rest)), true
}

// maxPrompt is the longest prompt with its sign: a user, a host and a path of some depth.
const maxPrompt = 121

// maxName is the longest name of a switch (RFC 1035, section 2.3.4: 63 characters a label).
const maxName = 63
