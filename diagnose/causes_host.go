package diagnose

// hostCauses are told from what hosts, libraries and jobs say of themselves.
var hostCauses = []Cause{
	causeLinkFlap, causeDeviceFatal, causeSlot,
	causeGIDv1, causeGIDLinkLocal, causeGIDSparse, causeGIDDiffers, causeSameSubnet, causeOwnNICs, causeTCPFiltered, causeSameName,
	causeWrongInterface,
}
