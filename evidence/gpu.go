package evidence

// GPU is what nvidia-smi and dcgmi tell of one GPU.
type GPU struct {
	Index       int    // -1 where not told
	PCI         string // address; "" where not told
	Name        Value[string]
	UUID        Value[string]
	Running     Value[PCILink] // now; an idle GPU runs slower to save power
	Capable     Value[PCILink]
	Replays     Value[int64]    // PCIe replays since reset
	Throttle    []Throttled     // reasons that hold its clocks down now
	ECCVolatile Value[int64]    // uncorrectable errors since the driver was loaded
	ECCLifetime Value[int64]    // and since the GPU was made
	Remapped    Value[string]   // "pending", "failed"; missing where neither
	Temperature Value[float64]  // degrees Celsius
	Fabric      Value[string]   // of NVSwitch hosts: "Completed", "In Progress", "Not Started"
	FabricState Value[string]   // "Success", or the error
	NVLinks     []NVLink        // where listed
	NUMANode    Value[int]      //
	Processes   Value[[]string] // that use it
	From        Source
}

// Throttled is a reason why a GPU's clocks are held down.
type Throttled struct {
	Reason string // "HW Slowdown", "SW Power Cap", ... as nvidia-smi prints it
	From   Source
}

// NVLink is one link of a GPU.
type NVLink struct {
	Index  int
	Active Value[bool]
	Speed  Value[float64] // GB/s each way, as nvidia-smi nvlink prints it
	Errors Value[int64]   // replay, recovery and CRC errors together
	From   Source
}

// DeviceMatrix is the table of nvidia-smi topo -m: how any two of a host's GPUs and NICs are connected.
type DeviceMatrix struct {
	Names []string   // "GPU0", "mlx5_0": NICs by their own names where the legend has them
	Paths [][]string // "X", "NV18", "PIX", "PXB", "PHB", "NODE", "SYS"
	NUMA  []Value[int]
	CPUs  []Value[CPUSet]
	From  Source
}

// Path is how two devices are connected; ok is false where the table does not have them.
func (m DeviceMatrix) Path(a, b string) (path string, ok bool) {
	i, j := -1, -1
	for k, n := range m.Names {
		if n == a {
			i = k
		}
		if n == b {
			j = k
		}
	}
	if i < 0 || j < 0 || i >= len(m.Paths) || j >= len(m.Paths[i]) {
		return "", false
	}
	return m.Paths[i][j], true
}

// HealthReport is one line of trouble in dcgmi health or dcgmi diag.
type HealthReport struct {
	Host      string
	Subsystem string // "NVLink system", "PCIe system", "Memory"
	Result    string // "Healthy", "Warning", "Failure", "Pass", "Fail", "Skip"
	GPU       int    // -1 where it is of all
	Text      string
	From      Source
}

// GPUAt returns the GPU at an address or with an index, made if it is not there yet. Either may be unknown ("" or -1).
func (h *Host) GPUAt(address string, index int) *GPU {
	for _, g := range h.GPUs {
		if address != "" && g.PCI == address || index >= 0 && g.Index == index && (address == "" || g.PCI == "") {
			if g.PCI == "" {
				g.PCI = address
			}
			if g.Index < 0 {
				g.Index = index
			}
			return g
		}
	}
	g := &GPU{Index: index, PCI: address}
	if len(h.GPUs) < MaxPorts {
		h.GPUs = append(h.GPUs, g)
	}
	return g
}
