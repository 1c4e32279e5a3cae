package mlxconfig

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

func read(t testing.TB, text string) (out []string) {
	t.Helper()
	inv := &evidence.Inventory{}
	if err := Parse(strings.NewReader(text), fragment.New(inv, "f")); err != nil {
		t.Fatal(err)
	}
	for _, s := range inv.Settings {
		out = append(out, s.Name+"="+s.Value)
	}
	return out
}

func TestQuery(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       []string
	}{
		{"plain", "Device #1:\n----------\nDevice type:    ConnectX6\nConfigurations:                              Next Boot\n         PCI_WR_ORDERING                     force_relax(1)\n         ROCE_ADAPTIVE_ROUTING_EN            True(1)\n",
			[]string{"mlxconfig.PCI_WR_ORDERING=force_relax(1)", "mlxconfig.ROCE_ADAPTIVE_ROUTING_EN=True(1)"}},
		{"-e: the value in force is the middle one", "Configurations:          Default         Current         Next Boot\n*        PCI_WR_ORDERING         per_mkey(0)     force_relax(1)  per_mkey(0)\n",
			[]string{"mlxconfig.PCI_WR_ORDERING=force_relax(1)"}},
		{"no head", "         PCI_WR_ORDERING                     force_relax(1)\n", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, read(t, tc.text)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add("Configurations: Current Next Boot\n* \n A\n * A B C\n\tA B")
	f.Fuzz(func(t *testing.T, text string) { read(t, text) })
}
