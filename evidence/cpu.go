package evidence

import (
	"strconv"
	"strings"
)

// MaxCPU is the largest processor number: Linux is built for up to 8192 (CONFIG_NR_CPUS of x86_64).
const MaxCPU = 8192

// CPUSet is a set of processors.
type CPUSet []uint64

// ParseCPUList reads "0-23,96-119", the form of /proc and /sys (Documentation/admin-guide/cputopology.rst); ok is
// false for anything else.
func ParseCPUList(s string) (set CPUSet, ok bool) {
	s = strings.TrimSpace(s)
	if s == "" {
		return nil, false
	}
	for part := range strings.SplitSeq(s, ",") {
		first, last, ranged := strings.Cut(strings.TrimSpace(part), "-")
		if !ranged {
			last = first
		}
		from, err1 := strconv.ParseUint(first, 10, 16)
		to, err2 := strconv.ParseUint(last, 10, 16)
		if err1 != nil || err2 != nil || to >= MaxCPU || from > to {
			return nil, false
		}
		for cpu := from; cpu <= to; cpu++ {
			set.Add(int(cpu))
		}
	}
	return set, true
}

// ParseCPUMask reads "00000000,00ffffff", the form of /proc/irq/N/smp_affinity: words of 32 bits, the highest first.
func ParseCPUMask(s string) (set CPUSet, ok bool) {
	words := strings.Split(strings.TrimSpace(s), ",")
	if len(words) > MaxCPU/32 {
		return nil, false
	}
	for i, w := range words {
		v, err := strconv.ParseUint(w, 16, 32)
		if err != nil {
			return nil, false
		}
		for bit := range 32 {
			if v>>bit&1 == 1 {
				set.Add(32*(len(words)-1-i) + bit)
			}
		}
	}
	return set, true
}

// Add puts a processor in; numbers past MaxCPU are left out.
func (c *CPUSet) Add(cpu int) {
	if cpu < 0 || cpu >= MaxCPU {
		return
	}
	for len(*c) <= cpu/64 {
		*c = append(*c, 0)
	}
	(*c)[cpu/64] |= 1 << (cpu % 64)
}

// Has tells whether a processor is in the set.
func (c CPUSet) Has(cpu int) bool { return cpu >= 0 && cpu/64 < len(c) && c[cpu/64]>>(cpu%64)&1 == 1 }

// List has the processors in order.
func (c CPUSet) List() (cpus []int) {
	for cpu := range 64 * len(c) {
		if c.Has(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus
}

// Within tells whether every processor of the set is in the other.
func (c CPUSet) Within(other CPUSet) bool {
	for i, w := range c {
		var o uint64
		if i < len(other) {
			o = other[i]
		}
		if w&^o != 0 {
			return false
		}
	}
	return true
}

// String writes the set as ParseCPUList reads it.
func (c CPUSet) String() string {
	var b strings.Builder
	cpus := c.List()
	for i := 0; i < len(cpus); {
		j := i
		for j+1 < len(cpus) && cpus[j+1] == cpus[j]+1 {
			j++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(cpus[i]))
		if j > i {
			b.WriteString("-" + strconv.Itoa(cpus[j]))
		}
		i = j + 1
	}
	return b.String()
}

// Processor is what lscpu tells of a host's processors.
type Processor struct {
	Model          Value[string]
	CPUs           Value[int] // logical ones
	Sockets        Value[int]
	ThreadsPerCore Value[int]
	Virtual        Value[string] // hypervisor
}

// NUMANode is one node of a host's memory.
type NUMANode struct {
	ID        int
	CPUs      Value[CPUSet]
	Distances []int // to each node, in order; 10 is local (ACPI SLIT)
	From      Source
}

// IRQ is one interrupt of a device that matters here.
type IRQ struct {
	Number   int
	Device   string  // PCI address, interface or RDMA device its name speaks of; "" where none
	Name     string  // "mlx5_comp3@pci:0000:5c:00.0"
	PerCPU   []Count // how often each processor took it, where it did at all
	Total    uint64
	Affinity Value[CPUSet] // processors it may go to
	From     Source
}

// Count is how often a processor took an interrupt.
type Count struct {
	CPU   int
	Count uint64
}

// Busiest is the processor that took an interrupt most often, -1 where none did.
func (q IRQ) Busiest() (cpu int, share float64) {
	cpu = -1
	var most uint64
	for _, c := range q.PerCPU {
		if c.Count > most {
			cpu, most = c.CPU, c.Count
		}
	}
	if q.Total == 0 {
		return -1, 0
	}
	return cpu, float64(most) / float64(q.Total)
}

// NodeOf is the NUMA node a processor is on, -1 where the host's nodes do not tell.
func (h *Host) NodeOf(cpu int) int {
	for _, n := range h.NUMA {
		if n.CPUs.Is(func(s CPUSet) bool { return s.Has(cpu) }) {
			return n.ID
		}
	}
	return -1
}
