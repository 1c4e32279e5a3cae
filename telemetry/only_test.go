package telemetry

import (
	"testing"

	"github.com/shunt-network/shunt/units"
)

func TestOnly(t *testing.T) {
	w := NewWindow(units.At(0), units.At(9))
	for _, object := range []string{"node1/mlx5_0", "node10/mlx5_0", "leaf1/Ethernet8"} {
		w.Add(Key{Series: NICTxBytes, Object: object, Priority: 3}, Sample{Count: 5}, 1, "x", false)
	}
	got := w.Only("node1")
	keys := got.Keys(NICTxBytes)
	if len(keys) != 1 || keys[0].Object != "node1/mlx5_0" || got.To != w.To || w.Only("nowhere").Empty() != true || len(w.Keys(NICTxBytes)) != 3 {
		t.Errorf("%v of %v", keys, w.Keys(NICTxBytes))
	}
}
