package diagnose

// hostCauses are told from what hosts, libraries and jobs say of themselves.
var hostCauses = []Cause{
	causeLinkFlap, causeDeviceFatal, causeSlot,
	causeGDROff, causeACS, causeMemlock, causeShm, causeDevices, causePCIeLink,
	causeLossy, causeGlobalPause, causePFCStorm,
	causeGIDv1, causeGIDLinkLocal, causeGIDSparse, causeGIDDiffers, causeSameSubnet, causeOwnNICs, causeTCPFiltered, causeSameName,
	causeMTUDiffers, causeGINMTU, causeSmallMTU, causeUnreachable, causeRemoteAccess, causeECE,
	causeWrongInterface, causeSockets, causeMixedLayers, causeDifferentNICs, causePluginSwitch, causeOFI, causeHarmfulVariable,
	causeSharp, causeFewerChannels, causeWrongData, causePerftest, causeUnknownVariable, causeTwinPorts, causeCorruptingVariable,
	causeDesync, causeStuck, causePeerDied, causeOrdering, causeGPUFailed,
}
