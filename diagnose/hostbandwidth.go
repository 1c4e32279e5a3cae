package diagnose

// hostFastGPUSlow finds a bandwidth test between host memories that is far above what a collective between the
// same hosts gets.
func (v *View) hostFastGPUSlow() (Finding, bool) { return Finding{}, false }
