package topology

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

func read(t testing.TB, text string) []evidence.TopoNIC {
	t.Helper()
	inv := &evidence.Inventory{}
	if err := Parse(strings.NewReader(text), fragment.New(inv, "f")); err != nil {
		t.Fatal(err)
	}
	return inv.Topology
}

func TestFile(t *testing.T) {
	var got []string
	for _, n := range read(t, `<system version="1">
  <cpu numaid="1" affinity="ffffffff" arch="x86_64">
    <pci busid="0000:c9:00.0" class="0x020700" link_speed="32.0 GT/s PCIe" link_width="16">
      <nic>
        <net name="mlx5_7" dev="7" speed="400000" port="1" guid="0x2aa5e0003d3ebe8" maxconn="1" gdr="0" coll="1"/>
      </nic>
    </pci>
    <pci busid="0009:03:00.0">
      <nic>
        <net name="mlx5_0_dma" dev="0" port="1" guid="0x66a9020003f340cc"/>
`) {
		got = append(got, fmt.Sprint(n.Name, " ", n.Index, " ", n.Port, " ", n.GUID, " ", n.Speed, " gdr=", n.GDR, " ", n.PCI, " ", n.Link))
	}
	want := []string{
		"mlx5_7 7 1 0x2aa5e0003d3ebe8 400Gbps gdr=false 0000:c9:00.0 {32 16}",
		"mlx5_0_dma 0 1 0x66a9020003f340cc unknown gdr=unknown 0009:03:00.0 unknown",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("<pci busid=\"x\" link_speed=\"1 GT/s\" link_width=\"9\">\n<net name=\"a\" speed=\"99999999999\" dev=\"-1\" gdr=\"2\"\n<net ")
	f.Fuzz(func(t *testing.T, text string) {
		for _, n := range read(t, text) {
			if v, ok := n.Speed.Get(); ok && v < 0 {
				t.Fatal(v)
			}
		}
	})
}
