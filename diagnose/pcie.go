package diagnose

import (
	"fmt"
	"strings"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/units"
)

// What is known of a host's PCIe, as causes ask for it.

// pciNIC is a network device of a host on its bus, with the port behind it where that is known.
type pciNIC struct {
	evidence.PCIDevice
	host *evidence.Host
	name string                     // device or interface, else the address
	rate evidence.Value[units.Rate] // of the port
	job  answer                     // the job uses it
}

func (p pciNIC) String() string { return object(p.host.Name, p.name) }

// pciNICs lists the network devices that lspci shows, with the rates of their ports.
func (v *View) pciNICs() []pciNIC {
	return once(v, func(f *facts) **[]pciNIC { return &f.pciNICs }, func() []pciNIC {
		var all []pciNIC
		job := v.jobDevices()
		for _, h := range v.Inv.Hosts {
			for _, d := range h.PCI {
				p := pciNIC{PCIDevice: d, host: h, name: d.Address}
				at := evidence.PCIAddress(d.Address)
				for _, x := range h.Netdevs {
					if evidence.PCIAddress(x.PCI.Or("")) == at && at != "" || x.Name == d.Address {
						p.name, p.rate = x.Name, x.Speed
					}
				}
				for _, n := range h.NICs {
					byNetdev := n.Netdev.Known() && n.Netdev.Or("") == p.name
					if !byNetdev && n.Device != d.Address && (at == "" || evidence.PCIAddress(n.PCI.Or("")) != at) {
						continue
					}
					p.name = n.Device
					if n.Rate.Known() {
						p.rate = n.Rate
					}
					p.job = no
					if job.has(h.Name, n) {
						p.job = yes
					}
				}
				all = append(all, p)
			}
		}
		return all
	})
}

// gpus lists the addresses of a host's GPUs.
func gpus(h *evidence.Host) (addresses []string) {
	for _, g := range h.GPUs {
		if a := evidence.PCIAddress(g.PCI); a != "" {
			addresses = append(addresses, a)
		}
	}
	return addresses
}

// directBridges is the set of bridges between a GPU and a NIC of a host below one root complex; ok is false where the
// tree does not tell of any such pair.
func (v *View) directBridges(h *evidence.Host) (bridges map[string]bool, ok bool) {
	bridges = map[string]bool{}
	for _, g := range gpus(h) {
		for _, d := range h.PCI {
			between, joined := h.BridgesBetween(g, d.Address)
			if !joined {
				continue
			}
			ok = true
			for _, b := range between {
				bridges[b] = true
			}
		}
	}
	return bridges, ok
}

// placed tells whether the tree shows where a host's GPUs and NICs hang, so that "no bridge in common" means something.
func placed(h *evidence.Host) bool {
	seen := func(address string) bool {
		up, ok := h.BridgesAbove(address)
		return ok && len(up) > 0
	}
	for _, g := range gpus(h) {
		for _, d := range h.PCI {
			if seen(g) && seen(d.Address) {
				return true
			}
		}
	}
	return false
}

// tlpOverhead is what a PCIe write adds to its payload: 12 to 16 bytes of header with 64-bit addresses, 4 of sequence and
// framing and 4 of LCRC (PCI Express base specification, 2.2.1, 3.6 and 4.2.2).
const tlpOverhead = 16 + 4 + 4

// payloadGBps is what a link moves of a NIC's data with a payload size.
func payloadGBps(l evidence.PCILink, payload int) float64 {
	return pcieGBps(l) * float64(payload) / float64(payload+tlpOverhead)
}

// virtualMachine tells whether a host is a virtual machine.
func virtualMachine(h *evidence.Host) bool {
	if h.Processor.Virtual.Is(func(s string) bool { return s != "" && !strings.EqualFold(s, "none") }) {
		return true
	}
	for _, d := range h.PCI {
		if strings.Contains(d.Name, "Virtual Function") || strings.Contains(d.Name, "Virtio") || strings.Contains(d.Name, "Elastic") {
			return true
		}
	}
	return false
}

// amd tells whether a host's processors are AMD's.
func amd(h *evidence.Host) bool {
	return h.Processor.Model.Is(func(s string) bool { return strings.Contains(s, "AMD") || strings.Contains(s, "EPYC") })
}

func linkText(l evidence.PCILink) string { return fmt.Sprintf("%g GT/s x%d", l.Speed, l.Width) }
