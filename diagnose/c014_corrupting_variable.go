package diagnose

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/units"
)

// C014: an NCCL variable makes collectives write where they must not.
//
// Symptom: wrong data, GPU memory faults (Xid 31), and often a bandwidth too good to be true. Mechanism: the variable
// breaks an agreement inside NCCL that nothing checks; each rule below says which. Evidence for: the values. Look-alikes:
// C007, where a variable costs speed only; J004, where the NIC reorders.
var causeCorruptingVariable = Cause{
	Code:     "C014",
	Title:    "an NCCL variable makes data wrong",
	Needs:    "the variables of the job (NCCL log, command line, env, /etc/nccl.conf)",
	Explains: []string{"C010", "J003", "J005"},
	Check:    checkCorruptingVariable,
}

var corruptions = map[string]func(*View, evidence.EnvVar) (harm, bool){
	"NCCL_CHUNK_SIZE": harmChunkSize,
	"NCCL_PROTO":      harmLL128,
}

func checkCorruptingVariable(v *View) Verdict {
	if v.Inv.Simulated {
		return notApplicable("a simulated run has no variables of NCCL")
	}
	if len(v.Inv.NCCL.Env) == 0 && !v.Inv.NCCL.HasLog {
		return cannotCheck("the variables of the job (NCCL_DEBUG=INFO, or env | grep NCCL)")
	}
	if findings := judged(v, corruptions); len(findings) > 0 {
		return found(findings...)
	}
	return ruledOut("no variable that is set is known to corrupt data")
}

// defaultP2PChunk is the default of NCCL_P2P_NET_CHUNKSIZE (src/channel.cc and src/graph/paths.cc of NCCL 2.12
// and later: 128 KiB).
const defaultP2PChunk = 128 * units.KiB

// harmChunkSize: the kernel takes NCCL_CHUNK_SIZE as it is, the slots of point-to-point buffers have the size of
// NCCL_P2P_NET_CHUNKSIZE; a larger chunk is written past its slot.
func harmChunkSize(v *View, e evidence.EnvVar) (harm, bool) {
	size, err := strconv.ParseInt(e.Value, 10, 64)
	slot := int64(defaultP2PChunk)
	slotText := "the default " + units.Bytes(slot).String()
	if p, ok := v.variable("NCCL_P2P_NET_CHUNKSIZE", e.Host); ok {
		if n, err := strconv.ParseInt(p.Value, 10, 64); err == nil {
			slot, slotText = n, units.Bytes(n).String()
		}
	}
	if err != nil || size <= slot {
		return harm{}, false
	}
	h := harm{
		severity: Critical, confidence: named,
		title:   fmt.Sprintf("NCCL_CHUNK_SIZE=%s is larger than the slots it is written to (NCCL_P2P_NET_CHUNKSIZE: %s)", units.Bytes(size), slotText),
		because: "send and receive write chunks of that size into slots that are smaller, so they overwrite what follows: wrong data, or GPU memory faults (Xid 31)",
		wrongIf: "the job uses no send/receive and no alltoall",
		fix:     "unset NCCL_CHUNK_SIZE, or set NCCL_P2P_NET_CHUNKSIZE to the same value, at most 512 KiB",
	}
	for _, c := range v.Inv.Calls {
		if c.Wrong > 0 {
			h.confidence = proven
			h.effects = append(h.effects, Evidence{Layer: "collective", What: "wrong elements at " + c.Bytes.String(), Seen: fmt.Sprint(c.Wrong), Expected: "0", Role: "effect", From: c.From.String()})
			break
		}
	}
	return h, true
}

// harmLL128: the protocol relies on 128-byte stores that arrive whole, which NCCL knows for each platform.
func harmLL128(v *View, e evidence.EnvVar) (harm, bool) {
	if fields := protocols(e.Value); !slices.Contains(fields, "LL128") || slices.Contains(fields, "SIMPLE") {
		return harm{}, false
	}
	h := harm{
		severity: Warning, confidence: possible,
		title:   fmt.Sprintf("NCCL_PROTO=%s forces LL128 where NCCL might not choose it", e.Value),
		because: "LL128 relies on 128-byte stores that arrive whole; forced on a platform where NCCL does not choose it by itself it can corrupt data",
		wrongIf: "NCCL chooses LL128 on this platform by itself",
		fix:     "unset it",
	}
	for _, c := range v.Inv.Calls {
		if c.Wrong > 0 {
			h.severity, h.confidence = Critical, likely
		}
	}
	return h, true
}

// protocols lists the protocols a value of NCCL_PROTO asks for; a list of what to leave out asks for none.
func protocols(value string) []string {
	value = strings.ToUpper(strings.TrimSpace(value))
	if strings.HasPrefix(value, "^") {
		return nil
	}
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ':' || r == ';' })
}
