package validation

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// Poisson arrivals of equal packets at one port are the queue M/D/1. With load rho and service time S the mean wait is
// (Pollaczek and Khinchine, e.g. Kleinrock, Queueing Systems I, 5.6, with no variance of service)
//
//	W = rho S / (2 (1 - rho))
//
// and the wait is above t < S with probability 1 - (1 - rho) exp(rho t/S) (Erlang 1909), rho for t = 0.
//
// 64 senders at 1600 Gbit/s share the arrivals evenly at random, so that their own links add little: each is used rho/1024. The port to
// the receiver runs at 100 Gbit/s. What a packet takes beyond an empty network is its wait.
func TestLadderMD1(t *testing.T) {
	t.Parallel()
	const senders, packets = 64, 250_000
	w := fabric.Wire{Rate: 1600 * units.Gbps, Delay: 100 * units.Nanosecond}
	f := leafSpine(1, senders+1, 1, w)
	out := f.Ports[f.Endpoints[0]].Peer
	f.Ports[out].Rate = 100 * units.Gbps
	service := units.Serialize(full, 100*units.Gbps)
	empty := pipeline(mtu, mtu, []hop{{w.Rate, w.Delay}, {100 * units.Gbps, w.Delay}})
	for _, c := range []struct {
		rho, tol float64 // the wait of successive packets is correlated over 1/(1-rho)^2 services, so the mean of a run is the less sure the fuller the port
	}{{0.3, 0.02}, {0.6, 0.03}, {0.9, 0.08}} {
		rng := rand.New(rand.NewPCG(1, uint64(100*c.rho)))
		var b workload.Builder
		at := 0.0
		for range packets {
			at += rng.ExpFloat64() * float64(service) / c.rho
			op := send(1+rng.IntN(senders), 0, mtu)
			op.At = units.Duration(at)
			b.Add(op)
		}
		cfg := plain()
		cfg.Switch.Buffer = units.GiB // no pauses: the queue of the model has no end
		o := run(t, f, b.Plan(), cfg)
		wait, waited := 0.0, 0
		for i := range packets {
			over := o.Ops()[i].End.Sub(units.At(int64(o.plan.Ops[i].At))) - empty
			wait += float64(over) / packets
			// A packet that meets another of its own sender may wait a sixteenth of a service there, which is no wait of the port.
			if over > service/16 {
				waited++
			}
		}
		want := c.rho / (2 * (1 - c.rho))
		check(t, near(closedForm, fmt.Sprintf("M/D/1 at %.0f %%, mean wait", 100*c.rho), "services", want, c.tol, "rho / (2 (1 - rho)), Pollaczek and Khinchine"),
			wait/float64(service))
		above := 1 - (1-c.rho)*math.Exp(c.rho/16)
		check(t, near(closedForm, fmt.Sprintf("M/D/1 at %.0f %%, waits above S/16", 100*c.rho), "share", above, 0.01, "1 - (1 - rho) exp(rho/16), Erlang"),
			float64(waited)/packets)
	}
}
