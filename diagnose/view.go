package diagnose

import (
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/telemetry"
)

// View is all a diagnosis may look at.
type View struct {
	Inv *evidence.Inventory
	Win *telemetry.Window
	// Tested is the site's list of versions, nil where none was given.
	Tested *Compatibility

	facts *facts // what causes share during one Run; nil outside of it
}
