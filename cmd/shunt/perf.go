package main

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shunt-network/shunt/scenario"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// perfOptions are the flags of perf, under the names of nccl-tests where it has them.
type perfOptions struct {
	min, max, step string
	factor         int
	iters, warmup  int
	fabric         string
	algo           string
	ranks          string
	channels       int
	engine         engineFlag // empty: by the budget
	budget         float64
	change         changes
	json           bool
}

// perfBudget is how many packet-hops a row may take before it is worked out as flows: ten to twenty seconds.
const perfBudget = 100e6

func (a *app) perfCommand() *cobra.Command {
	o := perfOptions{}
	c := &cobra.Command{
		Use:   "perf COLLECTIVE --fabric FILE",
		Short: "the table of nccl-tests, from the simulator",
		Long: `Perf runs a collective over a range of sizes and prints the table that nccl-tests print, with the same columns and the same
definitions of size, algbw and busbw, so that a real table can be laid beside it.

FILE is a fabric or a scenario, whose switches, NICs, faults and background stay. Rows that would take more than --budget
packet-hops are worked out as flows; the last column says which. Out-of-place and in-place are the same run. Time is that of the
network and NVLink alone: what a kernel takes to launch and what GPUs take to add up is not in it.`,
		Example: `  shunt perf all_reduce -b 8 -e 1G -f 2 --fabric fabric.yaml
  shunt perf alltoall -b 1M -e 256M --fabric examples/moe-collision --set path_choice=random
  shunt perf all_reduce -b 1G -e 1G --fabric fabric.yaml --algo tree --engine flow`,
		Args:      cobra.ExactArgs(1),
		ValidArgs: workload.NoCollective.Choices(),
		RunE: func(c *cobra.Command, args []string) error {
			return a.perf(c.Context(), args[0], o)
		},
	}
	f := c.Flags()
	f.StringVarP(&o.min, "minbytes", "b", "32M", "smallest size")
	f.StringVarP(&o.max, "maxbytes", "e", "32M", "largest size")
	f.StringVarP(&o.step, "stepbytes", "i", "1M", "how much each size is larger than the one before")
	f.IntVarP(&o.factor, "stepfactor", "f", 0, "how many times each size is larger than the one before, instead of -i")
	f.IntVarP(&o.iters, "iters", "n", 1, "calls of each size (they differ little where nothing is left to chance)")
	f.IntVarP(&o.warmup, "warmup_iters", "w", 0, "calls before them that are not measured")
	f.StringVar(&o.fabric, "fabric", "", "file of a fabric, or a scenario")
	f.StringVar(&o.algo, "algo", "", "how it is carried out: ring, tree, hierarchical, nvls, in-network or auto (default: ring; alltoall and sendrecv are direct)")
	f.StringVar(&o.ranks, "ranks", "", "GPUs that take part, like 0-15 (default: all)")
	f.IntVar(&o.channels, "channels", 0, "parallel rings or tree pairs (default: one for each GPU of a host and plane)")
	f.Var(&o.engine, "engine", "packet or flow, whatever a row takes (default: by the budget)")
	f.Float64Var(&o.budget, "budget", perfBudget, "packet-hops of a row beyond which it is worked out as flows")
	o.change.on(f)
	f.BoolVar(&o.json, "json", false, "print JSON")
	if err := c.MarkFlagRequired("fabric"); err != nil {
		panic(err) // the flag is defined a few lines up
	}
	return c
}

// perfRow is one size of the table.
type perfRow struct {
	Size   int64   `json:"size"`
	Count  int64   `json:"count"` // elements of 4 bytes, as nccl-tests count them
	Redop  string  `json:"redop"`
	Engine string  `json:"engine"`
	TimeUS float64 `json:"time_us"`
	AlgBW  float64 `json:"algbw_gb_per_s"`
	BusBW  float64 `json:"busbw_gb_per_s"`
	// Ended is false where calls did not end; there is no time then.
	Ended bool `json:"ended"`
}

// sizes lists the sizes of the table.
func (o *perfOptions) sizes() (list []units.Bytes, step string, err error) {
	parse := func(flag, text string) (units.Bytes, error) {
		b, err := units.ParseBytes(text)
		if err != nil || b < 1 {
			return 0, fail(exitUsage, "%s %s: write bytes, like 8, 64K or 1G", flag, text)
		}
		return b, nil
	}
	low, err := parse("-b", o.min)
	if err != nil {
		return nil, "", err
	}
	high, err := parse("-e", o.max)
	if err != nil {
		return nil, "", err
	}
	by, err := parse("-i", o.step)
	if err != nil {
		return nil, "", err
	}
	const most = 1000 // rows of a table: more is a slip of -i
	switch {
	case high < low:
		return nil, "", fail(exitUsage, "-e %s is less than -b %s", o.max, o.min)
	case o.factor < 0 || o.factor == 1:
		return nil, "", fail(exitUsage, "-f %d: write 2 or more", o.factor)
	case o.iters < 1 || o.warmup < 0:
		return nil, "", fail(exitUsage, "-n %d -w %d: at least one call has to be measured", o.iters, o.warmup)
	}
	step = fmt.Sprintf("%d(bytes)", by)
	if o.factor > 1 {
		step = fmt.Sprintf("%d(factor)", o.factor)
	}
	for size := low; size <= high && len(list) <= most; {
		list = append(list, size)
		if o.factor > 1 {
			if size > high/units.Bytes(o.factor) {
				break
			}
			size *= units.Bytes(o.factor)
		} else {
			size += by
		}
	}
	if len(list) > most {
		return nil, "", fail(exitUsage, "-i %s makes more than %d rows; write -f 2", o.step, most)
	}
	return list, step, nil
}

// perf prints the table, row by row.
func (a *app) perf(ctx context.Context, name string, o perfOptions) error {
	var kind workload.Collective
	if err := kind.UnmarshalText([]byte(name)); err != nil {
		return fail(exitUsage, "%w", err)
	}
	sizes, step, err := o.sizes()
	if err != nil {
		return err
	}
	set, err := o.change.settings()
	if err != nil {
		return err
	}
	var ranks workload.Ranks
	if o.ranks != "" {
		if err := ranks.UnmarshalText([]byte(o.ranks)); err != nil {
			return fail(exitUsage, "--ranks: %w", err)
		}
	}
	src, err := scenario.ReadSource(o.fabric)
	if err != nil {
		return failed(err)
	}
	job := workload.CollectiveJob{Kind: kind, Algorithm: workload.Algorithm(o.algo), Ranks: ranks, Repeat: o.iters, Warmup: o.warmup, Channels: o.channels}
	line := a.progress("simulating")
	defer line.clear()
	var rows []perfRow
	for i, size := range sizes {
		job.Size = size
		s, err := src.Bench(job, set...)
		if err != nil {
			return failed(err)
		}
		hops, gpus, hosts, switches, err := s.PacketHops()
		if err != nil {
			return failed(err)
		}
		n := gpus
		if ranks != nil {
			n = len(ranks)
		}
		if i == 0 && !o.json {
			head := perfHead(name, sizes, step, o, fmt.Sprintf("%s: %d GPUs on %d hosts, %d switches, seed %d", src.File, gpus, hosts, switches, s.Seed))
			if _, err := fmt.Fprint(a.stdout, head+perfRanks(n, max(1, gpus/hosts))+perfColumns); err != nil {
				return written(err)
			}
		}
		// nccl-tests cut the size into equal parts of whole elements for these, so that small sizes come out as 0.
		row := perfRow{Size: int64(size), Redop: "none"}
		parts := int64(1)
		if kind == workload.AllGather || kind == workload.ReduceScatter || kind == workload.AllToAll {
			parts = int64(n)
		}
		if kind == workload.AllReduce || kind == workload.ReduceScatter {
			row.Redop = "sum"
		}
		const element = 4 // bytes of a float
		row.Count = int64(size) / element / parts
		row.Size = row.Count * element * parts
		engine := o.engine.Engine
		if engine == "" {
			if engine = scenario.Packets; hops > o.budget || s.TooLarge() {
				engine = scenario.Flows
			}
		}
		row.Engine = string(engine)
		if job.Size = units.Bytes(row.Size); row.Size > 0 && units.Bytes(row.Size) != size {
			if s, err = src.Bench(job, set...); err != nil {
				return failed(err)
			}
		}
		run, err := s.RunOn(ctx, engine, nil, func(done float64) { line.update(float64(i)+done, float64(len(sizes))) })
		line.clear()
		if err != nil {
			return failed(err)
		}
		if b, ok := run.Benchmark(); ok {
			row.Ended = true
			row.TimeUS = float64(b.Time) / float64(units.Microsecond)
			row.AlgBW = float64(row.Size) / row.TimeUS / 1e3
			row.BusBW = row.AlgBW * kind.BusFactor(n)
		}
		rows = append(rows, row)
		if !o.json {
			if _, err := fmt.Fprint(a.stdout, row.text()); err != nil {
				return written(err)
			}
		}
	}
	if o.json {
		return a.encode(rows)
	}
	_, err = fmt.Fprint(a.stdout, perfFoot(rows))
	return written(err)
}

// perfHead is what stands above the table (nccl-tests, src/common.cu). Nothing is validated: no data moves.
func perfHead(name string, sizes []units.Bytes, step string, o perfOptions, what string) string {
	high, _ := units.ParseBytes(o.max) // sizes has looked at it
	return fmt.Sprintf("# Collective test starting: %s_perf\n"+
		"# nThread 1 nGpus 1 minBytes %d maxBytes %d step: %s warmup iters: %d iters: %d agg iters: 1 validation: 0 graph: 0\n"+
		"#\n# Simulated by shunt on %s\n", name, sizes[0], high, step, o.warmup, o.iters, what)
}

// perfRanks lists the ranks; of very many only their number is told.
func perfRanks(n, perHost int) string {
	const most = 1024
	if n > most {
		return fmt.Sprintf("# %d ranks\n#\n", n)
	}
	var b strings.Builder
	b.WriteString("# Using devices\n")
	for r := range n {
		fmt.Fprintf(&b, "#  Rank %2d Group  0 Pid %6d on host%d device %2d [simulated]\n", r, r, r/perHost, r%perHost)
	}
	b.WriteString("#\n")
	return b.String()
}

// perfColumns is the head of the columns, and one of our own at their end.
const perfColumns = `#                                                              out-of-place                       in-place          
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong  engine
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       
`

// text is a row.
func (r *perfRow) text() string {
	half := fmt.Sprintf("  %7s  %6s  %6s  %5s", "-", "-", "-", "N/A")
	if r.Ended {
		half = fmt.Sprintf("  %7s  %6s  %6s  %5s", fits(r.TimeUS, 7), fits(r.AlgBW, 6), fits(r.BusBW, 6), "N/A")
	}
	return fmt.Sprintf("%12d  %12d  %8s  %6s  %6d%s%s  %6s\n", r.Size, r.Count, "float", r.Redop, -1, half, half, r.Engine)
}

// fits prints a number with as many of two decimals as fit into a width, as nccl-tests do.
func fits(v float64, width int) string {
	for decimals := 2; decimals >= 0; decimals-- {
		if text := strconv.FormatFloat(v, 'f', decimals, 64); len(text) <= width {
			return text
		}
	}
	return strconv.FormatFloat(v, 'e', 1, 64)
}

// perfFoot is what stands below: the average over both halves of all rows, which are the same here.
func perfFoot(rows []perfRow) string {
	sum, n := 0.0, 0
	for _, r := range rows {
		if r.Ended {
			sum += r.BusBW
			n++
		}
	}
	average := math.NaN()
	if n > 0 {
		average = sum / float64(n)
	}
	return fmt.Sprintf("# Out of bounds values : 0 OK\n# Avg bus bandwidth    : %.6g \n#\n", average)
}
