package netsim

import (
	"slices"
	"strings"

	"github.com/shunt-network/shunt/netsim/route"
	"github.com/shunt-network/shunt/spray"
	"github.com/shunt-network/shunt/units"
)

// PathChoice is how one of several equal-cost paths is chosen, for each flow or for each packet.
type PathChoice string

// Path choices of a switch.
const (
	ECMP       PathChoice = "ecmp"        // hash of the 5-tuple: a QP keeps its path
	ECMPQPN    PathChoice = "ecmp-qpn"    // the destination QPN as well (E-ECMP): the QPs of one connection spread
	Random     PathChoice = "random"      // a random port for every packet
	RoundRobin PathChoice = "round-robin" // every port once in a round, in random order
	LetFlow    PathChoice = "letflow"     // a random port for every flowlet
	CONGA      PathChoice = "conga"       // the least congested path for every flowlet, by what the far leaf tells
	DRILL      PathChoice = "drill"       // the shortest queue of two random ones and the last best
	DLB        PathChoice = "dlb"         // a port of the best quality band (Broadcom DLB, SAI ARS)
	NVIDIAAR   PathChoice = "nvidia-ar"   // a port of the lowest grade (Spectrum adaptive routing)
	Buckets    PathChoice = "buckets"     // a port by weighted buckets (the spraying of article 000)
)

// Path choices of the sender, which gives each packet an entropy value that the switches hash.
const (
	EVRandom  PathChoice = "ev-random" // a random entropy value for every packet
	Oblivious PathChoice = "oblivious" // every entropy value once in a round
	REPS      PathChoice = "reps"      // entropy values that came back unmarked are used again
	Bitmap    PathChoice = "bitmap"    // entropy values in turn but for those that did badly
	Mixed     PathChoice = "mixed"     // REPS, and bitmap while it has nothing to recycle
	PLB       PathChoice = "plb"       // one entropy value until its path stays congested
)

// Choices lists the path choices.
func (PathChoice) Choices() []string { return route.Names() }

// PathConfig is what can be set of the path choices.
type PathConfig struct {
	Entropies int                  `yaml:"entropies" min:"1" max:"65536" doc:"entropy values a QP uses (those the sender chooses by)"`
	LetFlow   route.LetFlowConfig  `yaml:"letflow" doc:"parameters of letflow"`
	CONGA     route.CONGAConfig    `yaml:"conga" doc:"parameters of conga"`
	DRILL     route.DRILLConfig    `yaml:"drill" doc:"parameters of drill"`
	DLB       route.DLBConfig      `yaml:"dlb" doc:"parameters of dlb"`
	NVIDIAAR  route.NVIDIAARConfig `yaml:"nvidia_ar" doc:"parameters of nvidia-ar"`
	Buckets   route.BucketsConfig  `yaml:"buckets" doc:"parameters of buckets"`
	REPS      route.REPSConfig     `yaml:"reps" doc:"parameters of reps"`
	PLB       route.PLBConfig      `yaml:"plb" doc:"parameters of plb"`
}

// pathDefaults fills in what c leaves unset. 64 entropy values are those of the Ultra Ethernet reference model.
func pathDefaults(c PathConfig) PathConfig {
	c.Entropies = or(c.Entropies, 64)
	c.LetFlow = route.LetFlowDefaults(c.LetFlow)
	c.CONGA = route.CONGADefaults(c.CONGA)
	c.DRILL = route.DRILLDefaults(c.DRILL)
	c.DLB = route.DLBDefaults(c.DLB)
	c.NVIDIAAR = route.NVIDIAARDefaults(c.NVIDIAAR)
	c.Buckets = route.BucketsDefaults(c.Buckets)
	c.REPS = route.REPSDefaults(c.REPS)
	c.PLB = route.PLBDefaults(c.PLB)
	return c
}

// validatePath tells what is wrong with the choice of paths.
func (c Config) validatePath(wrong func(bad bool, format string, args ...any)) {
	wrong(!slices.Contains(route.Names(), string(c.Path)), "path %q: must be one of %s", c.Path, strings.Join(route.Names(), ", "))
	p := c.PathParams
	wrong(p.Entropies < 1 || p.Entropies > 1<<16, "path entropies %d: must be 1 to 65536", p.Entropies)
	even := c.Path == Oblivious || c.Path == Bitmap || c.Path == Mixed
	wrong(even && p.Entropies&(p.Entropies-1) != 0, "path entropies %d: %s needs a power of two", p.Entropies, c.Path)
	wrong(p.LetFlow.Gap <= 0 || p.LetFlow.Slots < 1 || p.LetFlow.Slots > 1<<20, "path letflow: gap must be positive, slots 1 to %d", 1<<20)
	wrong(p.CONGA.Gap <= 0 || p.CONGA.Slots < 1 || p.CONGA.Slots > 1<<20, "path conga: gap must be positive, slots 1 to %d", 1<<20)
	wrong(p.CONGA.Period < units.Nanosecond || p.CONGA.Age <= 0, "path conga period, age: must be at least 1ns")
	wrong(!(p.CONGA.Decay > 0 && p.CONGA.Decay <= 1), "path conga decay %v: must be above 0%% and at most 100%%", p.CONGA.Decay)
	wrong(p.DRILL.Choices < 1 || p.DRILL.Choices > 16 || p.DRILL.Memory < 1 || p.DRILL.Memory > 16, "path drill choices, memory: must be 1 to 16")
	d := p.DLB
	wrong(!slices.Contains(d.Mode.Choices(), string(d.Mode)), "path dlb mode %q: must be %s or %s", d.Mode, route.PerPacket, route.PerFlowlet)
	wrong(d.Interval < units.Nanosecond || d.Gap <= 0 || d.Slots < 1 || d.Slots > 1<<20, "path dlb: interval and gap must be at least 1ns, slots 1 to %d", 1<<20)
	wrong(!(d.LoadMin >= 0 && d.LoadMax > d.LoadMin && d.LoadMax <= 10), "path dlb load_min, load_max: must be at least 0%%, and load_max above load_min")
	wrong(d.QueueMin < 0 || d.QueueMax <= d.QueueMin || d.QueueMax > units.GiB, "path dlb queue_min, queue_max: must not be negative, and queue_max above queue_min and at most 1 GiB")
	wrong(d.Exponent < 0 || d.Exponent > 15, "path dlb exponent %d: must be 0 to 15", d.Exponent)
	wrong(d.LoadWeight < 0 || d.QueueWeight < 0 || d.LoadWeight > 100 || d.QueueWeight > 100, "path dlb load_weight, queue_weight: must be 0 to 100")
	a := p.NVIDIAAR
	wrong(a.Cell < 1 || a.Cell > 16384, "path nvidia_ar cell %v: must be 1 to 16384 bytes", a.Cell)
	wrong(a.Low < 0 || a.Medium < a.Low || a.High < a.Medium || a.High > 16777215, "path nvidia_ar low, medium, high: must not decrease, and be 0 to 16777215 cells")
	wrong(a.Free < 0 || a.Free > 7, "path nvidia_ar free %d: must be 0 to 7", a.Free)
	wrong(!(a.Utilisation >= 0 && a.Utilisation <= 1), "path nvidia_ar utilisation %v: must be 0%% to 100%%", a.Utilisation)
	wrong(!slices.Contains(a.Select.Choices(), string(a.Select)), "path nvidia_ar select %q: must be %s or %s", a.Select, route.RandomPort, route.TurnPort)
	validateBuckets(p.Buckets, wrong)
	wrong(p.REPS.Freeze <= 0, "path reps freeze %v: must be positive", p.REPS.Freeze)
	wrong(!(p.PLB.Threshold > 0 && p.PLB.Threshold <= 1), "path plb threshold %v: must be above 0%% and at most 100%%", p.PLB.Threshold)
	wrong(p.PLB.Rounds < 1 || p.PLB.Rounds > 31 || p.PLB.IdleRounds < 1 || p.PLB.IdleRounds > 31, "path plb rounds, idle_rounds: must be 1 to 31")
}

// validateBuckets tells what is wrong with the parameters of buckets.
func validateBuckets(b route.BucketsConfig, wrong func(bad bool, format string, args ...any)) {
	wrong(b.Buckets < 1 || b.Buckets > 1<<16, "path buckets count %d: must be 1 to %d", b.Buckets, 1<<16)
	wrong(!slices.Contains(b.Key.Choices(), string(b.Key)), "path buckets key %q: must be one of %s", b.Key, strings.Join(b.Key.Choices(), ", "))
	wrong(!slices.Contains(b.Curve.Choices(), string(b.Curve)), "path buckets curve %q: must be one of %s", b.Curve, strings.Join(b.Curve.Choices(), ", "))
	wrong(!slices.Contains(b.Freed.Choices(), string(b.Freed)), "path buckets freed %q: must be one of %s", b.Freed, strings.Join(b.Freed.Choices(), ", "))
	wrong(!slices.Contains(b.View.Choices(), string(b.View)), "path buckets view %q: must be %s or %s", b.View, route.ViewLocal, route.ViewPath)
	wrong(b.Hysteresis < 0 || b.MaxStep < 0, "path buckets hysteresis, max_step: must not be negative")
	wrong(b.Refresh < units.Nanosecond, "path buckets refresh %v: must be at least 1ns", b.Refresh)
	wrong(b.Jitter < 0 || b.Staleness < 0 || b.Jitter+b.Staleness >= b.Refresh, "path buckets jitter, staleness: must not be negative, and together below the refresh of %v", b.Refresh)
	for _, w := range [...]float64{b.Utilisation, b.Queue, b.Errors} {
		wrong(!(w >= 0 && w <= 255), "path buckets utilisation_weight, queue_weight, errors_weight: must be 0 to 255")
	}
	wrong(b.FullQueue < 0, "path buckets full_queue %v: must not be negative", b.FullQueue)
	wrong(!(b.Unusable > 0 && b.Unusable <= 1), "path buckets unusable %v: must be above 0%% and at most 100%%", b.Unusable)
	wrong(b.Rules.Limit < 0 || b.Rules.PerQP < 1, "path buckets rules: limit must not be negative, per_qp at least 1")
	_, err := spray.NewHasher(b.Hash)
	wrong(err != nil, "path buckets hash: %v", err)
}
