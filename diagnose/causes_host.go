package diagnose

// hostCauses are told from what hosts, switches, libraries and jobs say of themselves.
var hostCauses = []Cause{
	causeLinkFlap, causeDeviceFatal, causeSlot, causeFEC, causeOptics, causePortNotUp,
	causeGDROff, causeACS, causeMemlock, causeShm, causeDevices, causePCIeLink, causeFabricManager, causePayload, causeRelaxedOff,
	causeIOMMU, causeFarNIC, causeSharedCore, causeFarInterrupts, causeCoalescing, causeBinding, causeSharedLink, causePCIeErrors, causeReceiveDrops, causeGPUPeers,
	causeLossy, causeGlobalPause, causePFCStorm, causeLosslessDrops, causePausedHost, causeQoSPath, causeNotifications, causeIsolation,
	causeGIDv1, causeGIDLinkLocal, causeGIDSparse, causeGIDDiffers, causeSameSubnet, causeOwnNICs, causeTCPFiltered, causeSameName,
	causeGIDUnusable, causeNoRoute, causeNeighbor,
	causeMTUDiffers, causeGINMTU, causeSmallMTU, causeUnreachable, causeRemoteAccess, causeECE, causeOnlyFlushed, causeNotReady, causePathMTU,
	causePatience,
	causeWrongInterface, causeSockets, causeMixedLayers, causeDifferentNICs, causePluginSwitch, causeOFI, causeHarmfulVariable,
	causeSharp, causeFewerChannels, causeWrongData, causePerftest, causeUnknownVariable, causeTwinPorts, causeCorruptingVariable, causeInterfaceList,
	causeForeignVariable, causeNVLS, causeCloud, causeAlgorithm, causePairs, causeSlowRank, causeSlowNIC, causeVersions, causeSeparateRuns, causeBond, causeRelease,
	causeDesync, causeStuck, causePeerDied, causeOrdering, causeGPUFailed, causeWatchdogStuck, causeHostTrouble, causeGPUClocks, causeGPUErrors, causeSharedGPU,
	causeCompatibility, causeDrift,
}
