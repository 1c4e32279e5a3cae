package diagnose

import "slices"

// Symptom is what somebody notices who does not know the cause yet.
type Symptom struct {
	Text  string
	Codes []string // of the causes to look for, the likeliest first
}

// symptoms are the seven that training on RoCE is known for. The order is bottom up, as one would look: the host, the
// link, the fabric, the connection, the job.
var symptoms = []Symptom{
	{"a single flow is slow, whatever the fabric does", []string{"H006", "H008", "H016", "H011", "H002", "H010", "H009", "H001", "H015", "P001", "R003", "C022", "H019", "C011", "C020"}},
	{"traffic both ways, or of two kinds, gets in each other's way", []string{"L036", "L038", "X011", "L013", "L039", "L034", "L012", "L041"}},
	{"sporadic loss, with jitter", []string{"L032", "L033", "L037", "L031", "L035", "H018", "R009", "L042"}},
	{"fast on few nodes, slow from some number on", []string{"L021", "L011", "L040", "C008", "C009"}},
	{"CRC or symbol errors grow", []string{"P002", "P007", "P006", "P005"}},
	{"NCCL times out while connecting", []string{"I001", "I002", "I003", "I009", "I010", "I011", "I007", "R004", "R031", "X022", "C001"}},
	{"the job dies now and then, and a restart heals it", []string{"P003", "P004", "R010", "H017", "J004", "J003", "J007", "J009"}},
}

// Symptoms lists what somebody notices and the causes to look for. A cause stands under one symptom at most.
func Symptoms() []Symptom {
	list := slices.Clone(symptoms)
	for i := range list {
		list[i].Codes = slices.Clone(list[i].Codes)
	}
	return list
}

// SymptomOf is the symptom a cause stands under, "" where it is under none.
func SymptomOf(code string) string {
	for _, s := range symptoms {
		if slices.Contains(s.Codes, code) {
			return s.Text
		}
	}
	return ""
}
