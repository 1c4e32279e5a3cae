package netsim

import (
	"syscall"
	"testing"

	"github.com/shunt-network/shunt/units"
)

// reference is the configuration of the reference workload: 4096+64 byte packets, an ACK for each, go-back-N, PFC at 64 and 48 packets with
// buffers that never fill, ECMP by flow, no congestion control.
func reference() Config {
	return Config{
		Seed: 1,
		Path: ECMP,
		Switch: SwitchConfig{
			Buffer: units.GiB, Alpha: 1024, XOFF: 64 * 4160, XON: 16 * 4160, ECN: ECNConfig{Off: true},
		},
		NIC: NICConfig{Control: "none"},
	}
}

// referenceNSCC is the configuration of the second reference workload: Ultra Ethernet's transport and congestion control over 64 entropy values,
// queues of one bandwidth-delay product (101 packets) that trim, marking from 0.2 to 0.8 of it, an ACK for 16 KB.
func referenceNSCC(path PathChoice) Config {
	return Config{
		Seed: 1,
		Path: path,
		Switch: SwitchConfig{
			Lossless: []int{}, Queue: 101 * 4160, Trim: TrimConfig{On: true},
			ECN: ECNConfig{KMin: 87_360, KMax: 336_960, PMax: 1},
		},
		NIC:        NICConfig{Transport: UEC, Control: NSCC, AckEvery: 4},
		PathParams: PathConfig{Entropies: 64},
	}
}

func benchPermutation(b *testing.B, leaves, hosts, spines int, c Config) {
	f := leafSpine(leaves, hosts, spines)
	p := permutation(leaves*hosts, 2_000_000, 1)
	b.ReportAllocs()
	var hops, events uint64
	before := cpu(b)
	for b.Loop() {
		n, err := New(f, p, c)
		if err != nil {
			b.Fatal(err)
		}
		if done, err := n.RunUntil(units.At(never)); !done || err != nil {
			b.Fatal(done, err)
		}
		hops += n.hops
		events += n.events
	}
	b.ReportMetric(float64(hops)/(cpu(b)-before), "hops/cpu-s")
	b.ReportMetric(float64(events)/float64(hops), "events/hop")
	b.ReportMetric(float64(hops)/float64(b.N), "hops/run")
}

// cpu is the processor time of this process in seconds, the collector's included; wall time says little on a shared machine.
func cpu(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

func BenchmarkPermutation16(b *testing.B)   { benchPermutation(b, 4, 4, 4, reference()) }
func BenchmarkPermutation128(b *testing.B)  { benchPermutation(b, 8, 16, 16, reference()) }
func BenchmarkPermutation1024(b *testing.B) { benchPermutation(b, 32, 32, 32, reference()) }

func BenchmarkPermutationNSCC16(b *testing.B) { benchPermutation(b, 4, 4, 4, referenceNSCC(Oblivious)) }
func BenchmarkPermutationNSCC128(b *testing.B) {
	benchPermutation(b, 8, 16, 16, referenceNSCC(Oblivious))
}
func BenchmarkPermutationNSCC1024(b *testing.B) {
	benchPermutation(b, 32, 32, 32, referenceNSCC(Oblivious))
}

// BenchmarkPathChoice and BenchmarkControl tell what each scheme and each law costs on the second reference workload.
func BenchmarkPathChoice(b *testing.B) {
	for _, path := range PathChoice("").Choices() {
		b.Run(path, func(b *testing.B) { benchPermutation(b, 8, 16, 16, referenceNSCC(PathChoice(path))) })
	}
}

func BenchmarkControl(b *testing.B) {
	for _, control := range Control("").Choices() {
		c := referenceNSCC(Oblivious)
		c.NIC.Control = Control(control)
		b.Run(control, func(b *testing.B) { benchPermutation(b, 8, 16, 16, c) })
	}
}
