package sonic

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/telemetry"
	"github.com/shunt-network/shunt/units"
)

type reader interface {
	Line(line []byte, n int) bool
}

// feed gives a text to a reader, and tells how many lines it took.
func feed(r reader, text string) (taken int) {
	for i, line := range strings.Split(text, "\n") {
		if r.Line([]byte(line), i+1) {
			taken++
		}
	}
	if e, ok := r.(interface{ End() }); ok {
		e.End()
	}
	return taken
}

func onSwitch() *fragment.Fragment {
	f := fragment.New(&evidence.Inventory{}, "leaf1.txt")
	f.Host = "leaf1"
	return f
}

// counts has what was counted by "port/counter".
func counts(f *fragment.Fragment) map[string]uint64 {
	got := map[string]uint64{}
	for _, s := range f.Samples {
		got[s.Device+"/"+s.Counter] = s.Count
	}
	return got
}

func TestCounters(t *testing.T) {
	f := onSwitch()
	feed(NewCounters(f), `      IFACE    STATE            RX_OK        RX_BPS    RX_UTIL    RX_ERR    RX_DRP    RX_OVR            TX_OK        TX_BPS    TX_UTIL    TX_ERR    TX_DRP    TX_OVR
-----------  -------  ---------------  ------------  ---------  --------  --------  --------  ---------------  ------------  ---------  --------  --------  --------
  Ethernet0        U  471,729,839,997  653.87 MB/s     12.77%         7    18,682         0  409,682,385,925  556.84 MB/s     10.88%         0        12         0
  Ethernet8        X              N/A           N/A        N/A       N/A       N/A       N/A              N/A           N/A        N/A       N/A       N/A       N/A
admin@leaf1:~$ `)
	want := map[string]uint64{"Ethernet0/TX_OK": 409682385925, "Ethernet0/RX_ERR": 7, "Ethernet0/TX_DRP": 12, "Ethernet0/TX_BPS": 556840000}
	if diff := cmp.Diff(want, counts(f)); diff != "" {
		t.Error(diff)
	}
	for _, s := range f.Samples {
		if s.Series == telemetry.SwitchTxRate && s.Level != 8*556.84e6 {
			t.Errorf("the rate is %v bit/s", s.Level)
		}
	}
	if n := len(f.Inv.Switch("leaf1").Ports); n != 2 {
		t.Errorf("%d ports", n)
	}
}

func TestPauseAndQueues(t *testing.T) {
	f := onSwitch()
	feed(NewPause(f), `  Port Rx    PFC0    PFC1    PFC2    PFC3    PFC4    PFC5    PFC6    PFC7
---------  ------  ------  ------  ------  ------  ------  ------  ------
Ethernet0       0       0       0   1,204       0       0       0       0

  Port Tx    PFC0    PFC1    PFC2    PFC3    PFC4    PFC5    PFC6    PFC7
---------  ------  ------  ------  ------  ------  ------  ------  ------
Ethernet0       0       0       0      17       0       0       0       0`)
	feed(NewQueues(f), `     Port    TxQ    Counter/pkts    Counter/bytes    Drop/pkts    Drop/bytes
---------  -----  --------------  ---------------  -----------  ------------
Ethernet0    UC0               0                0            0             0
Ethernet0    UC3             100          409,600            5        20,480
Ethernet0   MC10               3              300            0             0`)
	got := counts(f)
	for name, want := range map[string]uint64{"Ethernet0/PFC3Port Rx": 1204, "Ethernet0/PFC3Port Tx": 17, "Ethernet0/Counter/bytes": 409600, "Ethernet0/Drop/pkts": 5} {
		if got[name] != want {
			t.Errorf("%s: %d, want %d (%v)", name, got[name], want, got)
		}
	}
	for _, s := range f.Samples {
		if s.Series == telemetry.SwitchTxBytes && s.Count > 0 && s.Priority != 3 {
			t.Errorf("bytes of UC3 in priority %d", s.Priority)
		}
	}
}

func TestPortsAndNeighbors(t *testing.T) {
	f := onSwitch()
	feed(NewPorts(f), `  Interface            Lanes    Speed    MTU    FEC    Alias    Vlan    Oper    Admin                                             Type    Asym PFC
-----------  ---------------  -------  -----  -----  -------  ------  ------  -------  -----------------------------------------------  ----------
  Ethernet0  0,1,2,3,4,5,6,7     400G   9100     rs     etp1  routed      up       up  QSFP-DD Double Density 8X Pluggable Transceiver         off
  Ethernet8        8,9,10,11     200G   1500    N/A     etp2  routed    down       up                                              N/A         off`)
	feed(NewNeighbors(f), `Capability codes: (R) Router, (B) Bridge, (O) Other
LocalPort    RemoteDevice         RemotePortID       Capability    RemotePortDescr
-----------  -------------------  -----------------  ------------  -----------------
Ethernet0    spine2.example.net   Ethernet16         BR            leaf1
Ethernet8    node7                02:00:5e:00:53:01                ens3np0
eth0         mgmt1                Gi1/0/3            BR
--------------------------------------------------
Total entries displayed:  3`)
	s := f.Inv.Switch("leaf1")
	if p := s.Port("Ethernet0"); p.Peer != "spine2/Ethernet16" || !p.Uplink || p.MTU.Or(0) != 9100 || p.FECSet.Or("") != "rs" || p.Rate.Or(0) != 400*units.Gbps {
		t.Errorf("%+v", p)
	}
	if p := s.Port("Ethernet8"); p.Peer != "node7/ens3np0" || p.Uplink || p.Rate.Known() || p.FECSet.Known() {
		t.Errorf("%+v", p)
	}
	if len(s.Ports) != 2 {
		t.Errorf("%d ports", len(s.Ports))
	}
}

const config = `{
 "DEVICE_METADATA": {"localhost": {"hostname": "leaf1", "hwsku": "ACS-SN4700", "type": "ToRRouter"}},
 "PORT": {"Ethernet0": {"speed": "400000", "mtu": "9100", "fec": "rs"}, "Ethernet8": {"speed": "400000"}},
 "DEVICE_NEIGHBOR": {"Ethernet8": {"name": "spine1", "port": "Ethernet0"}},
 "DEVICE_NEIGHBOR_METADATA": {"spine1": {"type": "LeafRouter"}},
 "DSCP_TO_TC_MAP": {"AZURE": {"26": "3", "48": "6", "99": "1"}},
 "TC_TO_PRIORITY_GROUP_MAP": {"AZURE": {"3": "3"}},
 "TC_TO_QUEUE_MAP": {"AZURE": {"3": "3"}},
 "PORT_QOS_MAP": {"Ethernet0": {"dscp_to_tc_map": "[DSCP_TO_TC_MAP|AZURE]", "pfc_enable": "3,4", "tc_to_queue_map": "AZURE"}, "Ethernet8": {"dscp_to_tc_map": "AZURE"}},
 "QUEUE": {"Ethernet0|3-4": {"wred_profile": "AZURE_LOSSLESS"}, "Ethernet0,Ethernet8|0": {"scheduler": "x"}},
 "WRED_PROFILE": {"AZURE_LOSSLESS": {"ecn": "ecn_all", "green_min_threshold": "1048576", "green_max_threshold": "2097152", "green_drop_probability": "5"}},
 "BUFFER_PG": {"Ethernet0|3-4": {"profile": "[BUFFER_PROFILE|pg_lossless]"}},
 "BUFFER_PROFILE": {"pg_lossless": {"pool": "ingress_lossless_pool", "xoff": "230400", "size": "250880", "dynamic_th": "-3"}},
 "PFC_WD": {"GLOBAL": {"POLL_INTERVAL": "200"}}
}`

func TestConfigDB(t *testing.T) {
	f := fragment.New(&evidence.Inventory{}, "config_db.json")
	if err := ReadConfigDB(f, []byte(config), 1); err != nil {
		t.Fatal(err)
	}
	s := f.Inv.Switch("leaf1")
	q := s.Port("Ethernet0").QoS
	if s.QoS.DSCPToTC["AZURE"][26] != 3 || s.QoS.DSCPToTC["AZURE"][27] != -1 || s.QoS.TCToQ["AZURE"][3] != 3 || s.QoS.TCToQ["AZURE"][4] != -1 {
		t.Errorf("maps %+v", s.QoS)
	}
	if q.DSCPToTC.Or("") != "AZURE" || q.TCToPG.Known() || !q.PFC.Or([8]bool{})[4] || q.PFC.Or([8]bool{})[0] || q.Marking[4].Or("") != "AZURE_LOSSLESS" || q.Marking[0].Known() || q.Groups[3].Or("") != "pg_lossless" {
		t.Errorf("port %+v", q)
	}
	if pfc, known := s.Port("Ethernet8").QoS.PFC.Get(); !known || pfc != [8]bool{} {
		t.Errorf("a port without pfc_enable: %v, %v", pfc, known)
	}
	w := s.QoS.Marking["AZURE_LOSSLESS"]
	if marks, ok := w.Marks(); !marks || !ok || w.Min.Or(0) != 1<<20 || w.Share.Or(0) != 0.05 {
		t.Errorf("marking %+v", w)
	}
	if b := s.QoS.Buffers["pg_lossless"]; b.XOff.Or(0) != 230400 || b.Dynamic.Or(0) != -3 || b.XOn.Known() {
		t.Errorf("buffer %+v", b)
	}
	if p := s.Port("Ethernet8"); p.Peer != "spine1/Ethernet0" || !p.Uplink || s.Tier != "leaf" || s.QoS.PauseWatch.Or(0) != 200 {
		t.Errorf("neighbour %+v of %s", p, s.Tier)
	}
}

func TestMarking(t *testing.T) {
	f := onSwitch()
	feed(NewMarking(f), `Profile: AZURE_LOSSLESS
-----------------------  -------
red_max_threshold        2097152
ecn                      ecn_none
green_min_threshold      1048576
green_max_threshold      2097152
green_drop_probability   5
-----------------------  -------

Profile: of nothing`)
	w := f.Inv.Switch("leaf1").QoS.Marking["AZURE_LOSSLESS"]
	if marks, ok := w.Marks(); marks || !ok || w.Max.Or(0) != 2<<20 {
		t.Errorf("%+v", w)
	}
	if n := len(f.Inv.Switch("leaf1").QoS.Marking); n != 1 {
		t.Errorf("%d profiles", n)
	}
}

func FuzzTables(f *testing.F) {
	f.Add("  Port Rx    PFC0 PFC7\n---- ---\nEthernet0  1  2\n")
	f.Add("IFACE  STATE  RX_OK  TX_BPS\n-----  -----  ---\n Ethernet0  U  1,0  9e99 GB/s")
	f.Add("LocalPort    RemoteDevice    RemotePortID\nEthernet0  a  :::::\n")
	f.Add("Profile: a\necn ecn_all\nProfile: b")
	f.Add(config)
	f.Fuzz(func(t *testing.T, text string) {
		fr := onSwitch()
		for _, r := range []reader{NewCounters(fr), NewPause(fr), NewQueues(fr), NewPorts(fr), NewNeighbors(fr), NewMarking(fr)} {
			feed(r, text)
		}
		_ = ReadConfigDB(fr, []byte(text), 1)
	})
}
