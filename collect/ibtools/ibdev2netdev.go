package ibtools

import (
	"bytes"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

// IBDev2Netdev reads ibdev2netdev (mlnx-tools, ofed_scripts/ibdev2netdev): "mlx5_0 port 1 ==> eth2 (Up)".
type IBDev2Netdev struct{ f *fragment.Fragment }

// NewIBDev2Netdev makes a reader for one output.
func NewIBDev2Netdev(f *fragment.Fragment) *IBDev2Netdev { return &IBDev2Netdev{f} }

// StartsIBDev2Netdev tells whether a line is one of the output.
func StartsIBDev2Netdev(line []byte) bool {
	return bytes.Contains(line, []byte(" ==> ")) && bytes.Contains(line, []byte(" port "))
}

// Line reads one line; false means that it is not of this output.
func (d *IBDev2Netdev) Line(line []byte, n int) bool {
	left, right, ok := strings.Cut(string(line), " ==> ")
	if !ok {
		return len(bytes.TrimSpace(line)) == 0
	}
	words := strings.Fields(left)
	address := ""
	if len(words) > 1 && strings.Contains(words[0], ":") { // -v: "0000:1a:00.0 mlx5_2 (MT4129 - ...) ... port 1"
		address, words = evidence.PCIAddress(words[0]), words[1:]
	}
	i := slices.Index(words, "port")
	if i < 1 || i+1 >= len(words) {
		return false
	}
	device := words[0]
	port, ok := number([]byte(words[i+1]))
	if !ok {
		return false
	}
	netdev, state, _ := strings.Cut(strings.TrimSpace(right), " ")
	nic := d.f.TheHost().NIC(device, port)
	nic.Netdev = evidence.Known(netdev, d.f.At(n))
	d.f.TheHost().Dev(netdev).Device = device
	if address != "" {
		nic.PCI = evidence.Known(address, d.f.At(n))
	}
	if state == "(Down)" && !nic.State.Known() {
		nic.State = evidence.Known("DOWN", d.f.At(n))
	}
	return true
}
