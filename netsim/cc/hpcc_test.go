package cc

import (
	"testing"

	"github.com/shunt-network/shunt/units"
)

// A path of 100 Gbit/s and 10 us holds 125 000 bytes.
var path = Path{Line: 100 * units.Gbps, BaseRTT: 10 * units.Microsecond, NetworkRTT: 10 * units.Microsecond, Hops: 3, MTU: 1000}

const product = 125_000.0

// link is one hop that is used to share and holds queue bytes, seen every 10 us.
type link struct {
	hop Hop
}

func (l *link) step(share float64, queue units.Bytes) []Hop {
	l.hop.At = l.hop.At.Add(10 * units.Microsecond)
	l.hop.Sent += uint64(share * product)
	l.hop.Queue, l.hop.Rate, l.hop.Port = queue, path.Line, 7
	return []Hop{l.hop}
}

// Algorithm 1 by hand. Full use and half a product queued at both ends of the interval is a utilisation of 1.5, so the window
// becomes 0.95/1.5 of the reference and a step of 0.05/10 of the product.
func TestHPCCSetsTheWindowByUtilisation(t *testing.T) {
	c := HPCCDefaults(HPCCConfig{})
	h := StartHPCC(&c, &path)
	near(t, "first window", float64(h.Window()), product)
	var l link
	seen := make([]Hop, 1)
	h.Ack(&c, &Ack{Acked: 1, Sent: 100}, l.step(1, 62_500), seen, false)
	near(t, "window before anything is known", h.window, product)
	h.Ack(&c, &Ack{Acked: 2, Sent: 100}, l.step(1, 62_500), seen, false)
	near(t, "utilisation", h.Utilisation(), 1.5)
	first := product*0.95/1.5 + 625
	near(t, "window", h.window, first)
	// Within the round trip the same news leads to the same window; it does not compound.
	h.Ack(&c, &Ack{Acked: 50, Sent: 150}, l.step(1, 62_500), seen, false)
	near(t, "window later in the round trip", h.window, first)
	h.Ack(&c, &Ack{Acked: 101, Sent: 200}, l.step(1, 62_500), seen, false)
	near(t, "window that becomes the reference", h.window, first)
	h.Ack(&c, &Ack{Acked: 102, Sent: 200}, l.step(1, 62_500), seen, false)
	near(t, "window of the next round trip", h.window, first*0.95/1.5+625)
	near(t, "rate", float64(h.Rate()), h.window*8/10e-6)
}

// Below the target it adds a step a round trip, and after MaxStage of them it goes to the target at once.
func TestHPCCStages(t *testing.T) {
	c := HPCCDefaults(HPCCConfig{})
	h := StartHPCC(&c, &path)
	h.window, h.reference = product/4, product/4
	var l link
	seen := make([]Hop, 1)
	h.Ack(&c, &Ack{Acked: 1, Sent: 10}, l.step(0.5, 0), seen, false)
	want := product / 4
	for i := range uint64(5) {
		h.Ack(&c, &Ack{Acked: 11 + 10*i, Sent: 20 + 10*i}, l.step(0.5, 0), seen, false)
		want += 625
		near(t, "window in a stage", h.window, want)
	}
	h.Ack(&c, &Ack{Acked: 61, Sent: 70}, l.step(0.5, 0), seen, false)
	near(t, "window after the last stage", h.window, want*0.95/0.5+625)
}

// A sample over less than a round trip counts for its share of one.
func TestHPCCAverages(t *testing.T) {
	c := HPCCDefaults(HPCCConfig{})
	h := StartHPCC(&c, &path)
	seen := make([]Hop, 1)
	at := func(us, sent float64) []Hop {
		return []Hop{{At: units.At(int64(us * 1e6)), Sent: uint64(sent), Rate: path.Line, Port: 1}}
	}
	h.Ack(&c, &Ack{Acked: 1, Sent: 10}, at(100, 0), seen, false)
	h.Ack(&c, &Ack{Acked: 2, Sent: 10}, at(101, 12_500), seen, false)
	near(t, "utilisation after a tenth of a round trip", h.Utilisation(), 0.1)
}

// The busiest hop decides; one that another path had used last, or that an overtaken acknowledgement tells of, says nothing.
func TestHPCCHops(t *testing.T) {
	c := HPCCDefaults(HPCCConfig{})
	for _, byPort := range []bool{false, true} {
		h := StartHPCC(&c, &path)
		seen := make([]Hop, 64)
		hops := func(us float64, ports ...uint32) (out []Hop) {
			for _, p := range ports {
				out = append(out, Hop{At: units.At(int64(us * 1e6)), Sent: uint64(us * 1000 * float64(p)), Rate: path.Line, Port: p})
			}
			return out
		}
		h.Ack(&c, &Ack{Acked: 1, Sent: 10}, hops(100, 1, 4, 2), seen, byPort)
		h.Ack(&c, &Ack{Acked: 2, Sent: 10}, hops(110, 1, 4, 2), seen, byPort)
		near(t, "utilisation of the busiest", h.Utilisation(), 4*1000*10/product) // port 4 sends 4000 bytes a microsecond
		h.u = 0
		h.Ack(&c, &Ack{Acked: 3, Sent: 10}, hops(105, 1, 4, 2), seen, byPort)
		near(t, "utilisation from an overtaken acknowledgement", h.Utilisation(), 0)
		h.Ack(&c, &Ack{Acked: 4, Sent: 10}, hops(120, 1, 9, 2), seen, byPort)
		near(t, "utilisation with another second hop", h.Utilisation(), 2*1000*10/product)
		h.u = 0
		h.Ack(&c, &Ack{Acked: 5, Sent: 10}, hops(130, 1, 4, 2), seen, byPort)
		want := 2 * 1000 * 10 / product // the second hop was another port in between
		if byPort {
			want = 4 * 1000 * 20 / product / 2 // known by its port since 20 us
		}
		near(t, "utilisation back on the first path", h.Utilisation(), want)
	}
}

func TestHPCCBounds(t *testing.T) {
	c := HPCCDefaults(HPCCConfig{})
	h := StartHPCC(&c, &path)
	h.set(1e9)
	near(t, "largest window", h.window, product)
	h.set(0)
	near(t, "rate at the least window", float64(h.Rate()), 100e6)
	near(t, "window that lets a packet go", float64(h.Window()), 1000)
}
