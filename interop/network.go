package interop

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/internal/spec"
	"github.com/shunt-network/shunt/interop/astrasim"
	"github.com/shunt-network/shunt/interop/hpcc"
	"github.com/shunt-network/shunt/interop/htsim"
	"github.com/shunt-network/shunt/interop/simai"
	"github.com/shunt-network/shunt/netsim"
)

// Network is a fabric from a file.
type Network struct {
	Kind   Kind
	Fabric *fabric.Fabric
	Config netsim.Config // what the file says of switches and NICs; the zero value of a field means its default
	Notes  spec.Problems // what is right but worth knowing
}

// Fabric reads a network. A configuration of HPCC stands for the topology that it names. The error is a spec.Problems where
// the file could be read.
func Fabric(path string) (*Network, error) {
	kind, err := Sniff(path)
	if err != nil {
		return nil, err
	}
	n := &Network{Kind: kind}
	switch kind {
	case HtsimTopology:
		t, err := read(path, htsim.ReadTopology)
		if err != nil {
			return nil, err
		}
		n.Fabric, n.Config.Switch, err = t.Fabric()
		n.Notes = t.Report.Notes
		return n.orNothing(err)
	case HPCCTopology:
		return n.hpcc(path, hpcc.Loss{})
	case SimAITopology:
		t, err := read(path, hpcc.ReadTopology)
		if err != nil {
			return nil, err
		}
		n.Fabric, err = simai.Fabric(t)
		n.Notes = t.Report.Notes
		return n.orNothing(err)
	case AstraNetwork:
		t, err := read(path, astrasim.ReadNetwork)
		if err != nil {
			return nil, err
		}
		n.Fabric, err = t.Fabric()
		n.Notes = t.Report.Notes
		return n.orNothing(err)
	case HPCCConfig:
		c, err := read(path, hpcc.ReadConfig)
		if err != nil {
			return nil, err
		}
		topology, err := named(path, c, "TOPOLOGY_FILE", c.Topology)
		if err != nil {
			return nil, err
		}
		if kind, err := Sniff(topology); err != nil || kind != HPCCTopology {
			return nil, not(topology, kind, err, "topology of HPCC, as which "+filepath.Base(path)+" names it")
		}
		if n, err = n.hpcc(topology, c.Loss()); err != nil {
			return nil, err
		}
		n.Config = c.Netsim(n.Fabric, 0)
		n.Config.Faults = nil // they belong to the time of the job
		n.Notes = append(n.Notes, c.Report.Notes...)
		return n.orNothing(c.Err())
	}
	return nil, not(path, kind, nil, "network")
}

// hpcc reads a topology of HPCC.
func (n *Network) hpcc(path string, l hpcc.Loss) (*Network, error) {
	t, err := read(path, hpcc.ReadTopology)
	if err != nil {
		return nil, err
	}
	n.Fabric, err = t.Fabric(l)
	n.Notes = t.Report.Notes
	return n.orNothing(err)
}

func (n *Network) orNothing(err error) (*Network, error) {
	if err != nil {
		return nil, err
	}
	return n, nil
}

// not is the error of a file that is something else than what was asked for.
func not(path string, kind Kind, err error, wanted string) error {
	if err != nil {
		return err
	}
	why, ok := useless[kind]
	if !ok {
		why = "import it as what it is"
	}
	text := fmt.Sprintf("this is no %s but of the kind %q; %s", wanted, kind, why)
	if kind == Unknown {
		text = fmt.Sprintf("this is no %s, and of no kind that is known; %s", wanted, why)
	}
	return spec.Problems{{File: path, Line: 1, Col: 1, Text: text}}
}

// read opens a file for one of the readers.
func read[T any](path string, reader func(file string, in io.Reader) (T, error)) (T, error) {
	f, err := os.Open(path)
	if err != nil {
		var none T
		return none, fmt.Errorf("interop: %w", err)
	}
	defer f.Close()
	return reader(path, f)
}

// named finds a file that a configuration names: paths there are from where ns-3 runs, which is some folder above.
func named(config string, c *hpcc.Config, key, name string) (string, error) {
	at := c.At(key)
	if name == "" {
		return "", spec.Problems{{File: config, Line: 1, Col: 1, Text: fmt.Sprintf("the configuration has no %s; add it, or give the file by itself and this one as settings", key)}}
	}
	if filepath.IsAbs(name) && exists(name) {
		return name, nil
	}
	const above = 5 // ns-3 keeps configurations at most four folders below its root
	dir := filepath.Dir(config)
	for range above {
		if path := filepath.Join(dir, name); exists(path) {
			return path, nil
		}
		dir = filepath.Join(dir, "..")
	}
	if path := filepath.Join(filepath.Dir(config), filepath.Base(name)); exists(path) {
		return path, nil
	}
	return "", spec.Problems{{File: config, Line: at.Line, Col: at.Col, Text: fmt.Sprintf("%s is %s, which is neither beside this file nor below a folder above; put it there", key, name)}}
}

func exists(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}
