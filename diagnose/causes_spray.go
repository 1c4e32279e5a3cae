package diagnose

// sprayCauses are the pitfalls of spraying packets over several paths. Where nothing sprays they do not apply.
var sprayCauses = []Cause{
	causeRuleTable, causeSprayedPause, causeSlowRefresh,
	causeContextLayouts, causeStaleLinkState, causeChecksumDropped,
}
