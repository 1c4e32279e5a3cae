package diagnose

// hostCauses are told from what hosts, libraries and jobs say of themselves.
var hostCauses = []Cause{
	causeLinkFlap, causeDeviceFatal, causeSlot,
	causeGDROff, causeACS, causeMemlock, causeShm, causeDevices, causePCIeLink, causeFabricManager,
	causeLossy, causeGlobalPause, causePFCStorm,
	causeGIDv1, causeGIDLinkLocal, causeGIDSparse, causeGIDDiffers, causeSameSubnet, causeOwnNICs, causeTCPFiltered, causeSameName,
	causeGIDUnusable, causeNoRoute,
	causeMTUDiffers, causeGINMTU, causeSmallMTU, causeUnreachable, causeRemoteAccess, causeECE, causeOnlyFlushed, causeNotReady,
	causeWrongInterface, causeSockets, causeMixedLayers, causeDifferentNICs, causePluginSwitch, causeOFI, causeHarmfulVariable,
	causeSharp, causeFewerChannels, causeWrongData, causePerftest, causeUnknownVariable, causeTwinPorts, causeCorruptingVariable, causeInterfaceList,
	causeDesync, causeStuck, causePeerDied, causeOrdering, causeGPUFailed, causeWatchdogStuck,
}
