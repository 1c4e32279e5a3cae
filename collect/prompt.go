package collect

import (
	"bytes"
	"strings"
)

// prompt reads what stands between outputs and says whose they are:
//
//	root@node1:~# ethtool -S ens3np0           a shell's prompt with the command
//	[user@node1 ~]$ ibstat
//	$ ibstat
//	==> node1/ibstat.txt <==                   head and tail, between files
//	ens3np0                                    for i in ...; do echo $i; ethtool -S $i; done
//
// The output before is over. A command that sets variables, runs a job or a test is an input itself.
func (p *pile) prompt(line []byte, n int) bool {
	if name, ok := bytes.CutPrefix(line, []byte("==> ")); ok {
		if name, ok = bytes.CutSuffix(name, []byte(" <==")); ok {
			p.section("").end()
			p.f.Host, p.f.Device = hostOf(string(name)), deviceOf(string(name))
			p.host(p.f.Host)
			return true
		}
	}
	if !bytes.ContainsAny(line, " \t") && deviceLike(string(line)) {
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
	p.f.Device = p.device
	if k := detect([]byte(command)); k >= 0 {
		p.section("").line(p, k, []byte(command), n)
		return true
	}
	if words := strings.Fields(command); len(words) >= 2 && strings.HasSuffix(words[0], "ethtool") || len(words) >= 3 && words[0] == "sudo" && words[1] == "ethtool" {
		if dev := words[len(words)-1]; deviceLike(dev) {
			p.f.Device = dev
		}
	}
	return true
}

// splitPrompt takes a prompt and its command apart; ok is false for any other line.
func splitPrompt(line []byte) (host, command string, ok bool) {
	i := bytes.IndexAny(line, "$#")
	if i < 0 || i+1 >= len(line) || line[i+1] != ' ' {
		return "", "", false
	}
	before, command := string(line[:i]), strings.TrimSpace(string(line[i+2:]))
	if line[i] == '#' && before == "" || len(before) > 120 {
		return "", "", false // a comment, as in the tables of nccl-tests
	}
	if before == "" {
		return "", command, command != ""
	}
	_, after, at := strings.Cut(before, "@")
	if !at {
		return "", "", false
	}
	host = after
	if j := strings.IndexAny(after, ":] "); j >= 0 {
		host = after[:j]
	}
	host = short(host)
	return host, command, command != "" && host != ""
}
