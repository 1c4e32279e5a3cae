package collect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/shunt-network/shunt/collect/cloud"
	"github.com/shunt-network/shunt/collect/container"
	"github.com/shunt-network/shunt/collect/document"
	"github.com/shunt-network/shunt/collect/ethtool"
	"github.com/shunt-network/shunt/collect/flightrec"
	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/collect/iproute"
	"github.com/shunt-network/shunt/collect/lldp"
	"github.com/shunt-network/shunt/collect/manifest"
	"github.com/shunt-network/shunt/collect/mlxlink"
	"github.com/shunt-network/shunt/collect/nccl"
	"github.com/shunt-network/shunt/collect/nccltests"
	"github.com/shunt-network/shunt/collect/nettest"
	"github.com/shunt-network/shunt/collect/nvue"
	"github.com/shunt-network/shunt/collect/perftest"
	"github.com/shunt-network/shunt/collect/sonic"
	"github.com/shunt-network/shunt/collect/sysfs"
)

// value is one format of JSON, told by the names at the top of a value.
type value struct {
	format Format
	claims func(document.Shape) bool
	read   func(f *fragment.Fragment, text []byte, line int) error
}

// Bundle is the format of what shunt collect tells of its own work.
const Bundle Format = "shunt bundle"

// values are tried in this order.
var values = []value{
	{ConfigDB, func(s document.Shape) bool {
		return !s.List && slices.ContainsFunc(sonic.ConfigTables, func(name string) bool { return s.Has(name) })
	}, sonic.ReadConfigDB},
	{Bundle, func(s document.Shape) bool { return s.Has("schema") && s.Has("missing") && s.Has("elapsed_ms") }, manifest.Read},
	{NCCLRAS, func(s document.Shape) bool { return s.Has("nccl_version", "communicators") }, nccl.ReadRAS},
	{NCCLRAS, func(s document.Shape) bool { return s.Has("timestamp", "group", "event", "peer") }, nccl.ReadRASEvent},
	{NCCLInspector, func(s document.Shape) bool { return s.Has("header", "metadata") }, nccl.ReadInspector},
	{FlightRecorder, func(s document.Shape) bool { return s.Has("entries", "version") || s.Has("entries", "pg_config") }, flightrec.Read},
	{NCCLTests, func(s document.Shape) bool { return s.Has("config", "results") }, nccltests.Read},
	{Perftest, func(s document.Shape) bool { return s.Has("test_info", "results") }, perftest.Read},
	{RDMALink, func(s document.Shape) bool { return s.List && s.Has("ifname", "physical_state") }, iproute.ReadRDMA},
	{RDMAStatistic, func(s document.Shape) bool { return s.List && s.Has("ifname", "port") }, sysfs.ReadStatistic},
	{IPAddr, func(s document.Shape) bool { return s.List && s.Has("ifname", "mtu") }, iproute.ReadAddr},
	{EthtoolFEC, func(s document.Shape) bool { return s.List && s.Has("ifname", "config", "active") }, ethtool.ReadFEC},
	{EthtoolPause, func(s document.Shape) bool { return s.List && s.Has("ifname", "autonegotiate") }, ethtool.ReadPause},
	{EthtoolQueues, func(s document.Shape) bool {
		return s.List && s.Has("ifname") && (s.Has("rx-usecs") || s.Has("tx-usecs") || s.Has("rx-max") || s.Has("combined-max"))
	}, ethtool.ReadQueues},
	{EthtoolFeatures, func(s document.Shape) bool { return s.List && s.Has("ifname", "rx-checksumming") }, ethtool.ReadFeatures},
	{IPNeighbors, func(s document.Shape) bool { return s.List && s.Has("dst", "state") }, iproute.ReadNeighbors},
	{IPRoute, func(s document.Shape) bool { return s.List && s.Has("dst", "flags") }, iproute.ReadRoute},
	{IPRule, func(s document.Shape) bool { return s.List && s.Has("priority", "src") }, iproute.ReadRule},
	{Iperf, func(s document.Shape) bool { return s.Has("start", "end") && !s.List }, nettest.ReadIperf},
	{MLXLink, func(s document.Shape) bool { return s.Has("status", "result") }, mlxlink.Read},
	{NVUEQueues, func(s document.Shape) bool {
		return !s.List && slices.ContainsFunc(nvue.Groups, func(name string) bool { return s.Has(name) })
	}, nvue.Read},
	{LLDP, func(s document.Shape) bool { return s.Has("lldp") }, lldp.Read},
	{Manifest, func(s document.Shape) bool { return s.Has("apiVersion", "kind") }, container.ReadKubernetes},
	{DockerInspect, func(s document.Shape) bool { return s.List && s.Has("HostConfig", "Config") }, container.ReadDocker},
	{SecurityGroups, func(s document.Shape) bool { return s.Has("SecurityGroupRules") || s.Has("SecurityGroups") }, cloud.Read},
}

// gathering is a JSON value whose end has not come yet.
type gathering struct {
	value document.Value
	from  int
}

var jsonBegins = []byte("{[ \t\"")

// json gives a line to the value that is open, or begins one; false means that the line is of no value.
func (p *pile) json(line []byte, n int) bool {
	if p.gathering == nil {
		if p.replaying || len(line) == 0 || bytes.IndexByte(jsonBegins, line[0]) < 0 || !document.Starts(line) {
			return false
		}
		if text, ok := loggedLine(line); ok {
			p.logged(text, n)
			return true
		}
		p.gathering = &gathering{from: n}
	}
	switch p.gathering.value.Line(line) {
	case document.Done:
		p.gathered()
	case document.Broken:
		p.gathered()
		return p.json(line, n)
	}
	return true
}

// gathered reads a value that is over. One that no format claims is read again line by line: text in braces need not
// be JSON.
func (p *pile) gathered() {
	if p.gathering == nil {
		return
	}
	g := p.gathering
	p.gathering = nil
	if g.value.Overflow() {
		p.s.inv.Unreadable = append(p.s.inv.Unreadable, unreadableAt(p.f.At(g.from), fmt.Sprintf("JSON of more than %d MiB", document.MaxBytes>>20)))
		return
	}
	text := g.value.Text()
	if shape, err := document.ShapeOf(text); err == nil {
		for _, v := range values {
			if !v.claims(shape) {
				continue
			}
			p.section("").end()
			p.note(v.format)
			if err := v.read(p.f, text, g.from); err != nil {
				p.s.inv.Unreadable = append(p.s.inv.Unreadable, unreadableAt(p.f.At(g.from), string(v.format)+": "+document.Explain(text, err).Error()))
			} else if g.value.Cut() {
				p.s.inv.Unreadable = append(p.s.inv.Unreadable, unreadableAt(p.f.At(g.from), string(v.format)+": its end is missing; what is whole was read"))
			}
			p.host(p.f.Host)
			return
		}
	}
	p.replaying = true
	n := g.from
	for line := range bytes.SplitSeq(bytes.TrimSuffix(g.value.Lines(), []byte("\n")), []byte("\n")) {
		p.line(line, n)
		n++
	}
	p.replaying = false
}

// Programs that keep logs put each line into an object of its own: Docker's json-file driver and CRI exporters
// ("log"), systemd's journal (journalctl -o json: "MESSAGE"), and most log services ("message", "msg").
type logged struct {
	Log     string `json:"log"`
	Journal string `json:"MESSAGE"`
	Host    string `json:"_HOSTNAME"` // of the journal
	Message string `json:"message"`
	Msg     string `json:"msg"`
	Google  string `json:"textPayload"`
}

// loggedLine takes the line out of an object of a log; ok is false for any other value.
func loggedLine(line []byte) (l logged, ok bool) {
	if line[0] != '{' || line[len(line)-1] != '}' || !mentionsLog(line) {
		return l, false
	}
	if json.Unmarshal(line, &l) != nil { // a member of another type is no line
		return l, false
	}
	return l, l.Log != "" || l.Journal != "" || l.Message != "" || l.Msg != "" || l.Google != ""
}

// mentionsLog spares the decoding of values that hold no line.
func mentionsLog(line []byte) bool {
	for _, name := range [...]string{`"log"`, `"MESSAGE"`, `"message"`, `"msg"`, `"textPayload"`} {
		if bytes.Contains(line, []byte(name)) {
			return true
		}
	}
	return false
}

func (p *pile) logged(l logged, n int) {
	host := p.f.Host
	if l.Host != "" {
		p.f.Host = short(l.Host)
	}
	text := []byte(l.Log + l.Journal + l.Message + l.Msg + l.Google)
	p.replaying = true
	for line := range bytes.SplitSeq(bytes.TrimRight(text, "\r\n"), []byte("\n")) {
		p.line(line, n)
	}
	p.replaying = false
	p.host(p.f.Host)
	p.f.Host = host
}
