package diagnose

// Cause is one thing that can be wrong and the way to tell.
type Cause struct {
	Code  string
	Title string // general, as the list of codes shows it
	Needs string // the inputs it rests on, for people: "uplink byte counters of one switch"
	// Explains lists codes of causes that are this one's consequences when both are found.
	Explains []string
	Check    func(*View) Verdict
}

// State is the outcome of checking a cause that was not found.
type State uint8

// Outcomes. A cause that does not apply (GIDs on InfiniBand) is not counted among the checked ones.
const (
	RuledOut State = iota
	CannotCheck
	NotApplicable
)

// Verdict is what a check came to: findings, or a state with its reason.
type Verdict struct {
	Findings []Finding
	State    State
	Why      string // evidence for ruling out, or what is missing
}

func found(f ...Finding) Verdict         { return Verdict{Findings: f} }
func ruledOut(why string) Verdict        { return Verdict{State: RuledOut, Why: why} }
func cannotCheck(missing string) Verdict { return Verdict{State: CannotCheck, Why: missing} }
func notApplicable(why string) Verdict   { return Verdict{State: NotApplicable, Why: why} }
