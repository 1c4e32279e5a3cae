package ibtools

import (
	"bytes"
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

// Line reads one line; false means that it is not of this output. With -v a PCI address and the names of parts
// stand around, so the device is the word before "port".
func (d *IBDev2Netdev) Line(line []byte, n int) bool {
	left, right, ok := strings.Cut(string(line), " ==> ")
	if !ok {
		return len(bytes.TrimSpace(line)) == 0
	}
	words := strings.Fields(left)
	device, port := "", 1
	for i := 1; i+1 < len(words); i++ {
		if words[i] == "port" {
			device = words[i-1]
			if p, ok := number([]byte(words[i+1])); ok {
				port = p
			}
		}
	}
	if device == "" || strings.HasPrefix(device, "(") {
		if len(words) < 2 {
			return false
		}
		device = words[1] // -v: "0000:1a:00.0 mlx5_0 (MT4129 - ...) ... port 1"
	}
	netdev, state, _ := strings.Cut(strings.TrimSpace(right), " ")
	nic := d.f.TheHost().NIC(device, port)
	nic.Netdev = evidence.Known(netdev, d.f.At(n))
	d.f.TheHost().Dev(netdev).Device = device
	if state == "(Down)" && !nic.State.Known() {
		nic.State = evidence.Known("DOWN", d.f.At(n))
	}
	return true
}
