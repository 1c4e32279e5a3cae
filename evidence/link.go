package evidence

import "github.com/shunt-network/shunt/units"

// FEC is forward error correction of a link, as ethtool --show-fec and mlxlink tell it.
type FEC struct {
	Configured Value[[]string] // "Auto", "RS", "BaseR", "Off", "LLRS": one or several
	Active     Value[string]   // "RS", "None", ...; missing while there is no link
}

// Module is a pluggable transceiver or cable (SFF-8636 for QSFP28, CMIS for QSFP-DD and OSFP, SFF-8472 for SFP), as
// ethtool -m or mlxlink -m show it.
type Module struct {
	Type        Value[string] // "QSFP28", "OSFP 8X Pluggable Transceiver"
	Vendor      Value[string]
	Part        Value[string]
	Serial      Value[string]
	Technology  Value[string]  // "850 nm VCSEL", "Copper cable unequalized"
	Length      Value[float64] // metres, of an attached cable
	Temperature Value[float64] // degrees Celsius
	Voltage     Value[float64] // volts
	Lanes       []LaneLight    // in order; empty for passive copper
	Alarms      []Alarm        // thresholds that are passed now
	Limits      []Limit        // what they are
	State       Value[string]  // CMIS: "ModuleReady", "ModuleLowPwr", ...
	Fault       Value[string]  // CMIS: the reason of the last fault
	From        Source
}

// LaneLight is one lane of an optical module. Powers are in dBm; no light is missing, and not minus infinity.
type LaneLight struct {
	Receive, Transmit Value[float64] // dBm
	Bias              Value[float64] // mA
}

// Alarm is a threshold of a module that is passed.
type Alarm struct {
	What    string // "laser rx power", "module temperature"
	Level   string // "high alarm", "low alarm", "high warning", "low warning"
	Channel int    // 1-based, 0 for the module as a whole
	From    Source
}

// Limit is a threshold of a module.
type Limit struct {
	What  string
	Level string
	Value float64 // dBm, mA, degrees Celsius or volts
}

// Coalescing is how long a NIC waits before it interrupts (ethtool -c).
type Coalescing struct {
	AdaptiveRx, AdaptiveTx Value[bool]
	RxDelay, TxDelay       Value[units.Duration]
	RxFrames, TxFrames     Value[int]
}

// Channels are the queues of a NIC, each with its interrupt (ethtool -l).
type Channels struct {
	Combined, MaxCombined Value[int]
}

// Ring are the descriptors of a NIC (ethtool -g).
type Ring struct {
	Rx, MaxRx, Tx, MaxTx Value[int]
}
