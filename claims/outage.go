package claims

import "fmt"

// timeoutExperiments are about what a path that is gone costs: timeouts of the NICs, detection by the switches.
func timeoutExperiments() []Experiment {
	return []Experiment{{
		Name: "timeout", Version: 2, Exact: true, Cost: 0.3, Files: []string{"flap.yaml"},
		Method: `Two hosts and one path that goes down under a message, for 5 ms or for good. The NICs wait 4.096 us x 2^n for an acknowledgement (InfiniBand
specification, 9.7.6.1.3) and try seven times more, with n as NCCL_IB_TIMEOUT sets it: 5, 14, 20 (the default since NCCL 2.23). Measured are the time from the
loss to the end of the job after a flap of 5 ms, and the time until the QP gives up where the path does not come back.`,
		Values: []string{"flap 14", "flap 20", "gives up 5", "gives up 14", "gives up 20"},
		run:    timeouts,
	}, {
		Name: "failover", Version: 1, Seeds: 5, Cost: 0.6, Files: []string{"failover.yaml"},
		Method: `Two leaves of four hosts, four spines at 100 Gbit/s, and one direction of a link that goes deaf without either end noticing. BFD (RFC 5880) at
50 ms x 3 with 10 ms to reroute, at 10 ms x 3 with 5 ms, and none: how long the job takes after the loss.`,
		Values: []string{"bfd 50", "bfd 10", "outage"},
		run:    failover,
	}}
}

func timeouts(t *Trial) (Values, error) {
	v := Values{}
	for _, n := range []int{5, 14, 20} {
		set := fmt.Sprintf("nic.timeout=%d", n)
		r, err := t.run("flap.yaml", set)
		if err != nil {
			return nil, err
		}
		const lost = 200.0 // us: when the path goes down
		if n > 5 {         // with 5 the QP has given up long before the path is back
			if r.Summary.Stalled || r.Cut {
				return nil, fmt.Errorf("flap.yaml %s: the job did not end", set)
			}
			v[fmt.Sprintf("flap %d", n)] = (float64(r.Summary.End.PS())/1e6 - lost) / 1000
		}
		if r, err = t.run("flap.yaml", set, "faults=[{kind: link-down, link: [leaf0, spine0], at: 200us}]"); err != nil {
			return nil, err
		}
		if r.Summary.Stalled { // the last event is the one with which the QP gave up
			v[fmt.Sprintf("gives up %d", n)] = (float64(r.Summary.End.PS())/1e6 - lost) / 1000
		}
	}
	return v, nil
}

func failover(t *Trial) (Values, error) {
	v := Values{}
	for _, c := range []struct{ name, bfd string }{
		{"bfd 50", "{interval: 50ms, multiplier: 3, reroute: 10ms}"},
		{"bfd 10", "{interval: 10ms, multiplier: 3, reroute: 5ms}"},
	} {
		r, err := t.finish("failover.yaml", "switch.bfd="+c.bfd, "job.pattern.size="+t.sized("20MB", "5MB"))
		if err != nil {
			return nil, err
		}
		v[c.name] = float64(r.Summary.End.PS())/1e9 - 0.2
	}
	sound, err := t.finish("failover.yaml", "faults=[]", "job.pattern.size="+t.sized("20MB", "5MB"))
	if err != nil {
		return nil, err
	}
	v["outage"] = v["bfd 50"] - (float64(sound.Summary.End.PS())/1e9 - 0.2)
	return v, nil
}
