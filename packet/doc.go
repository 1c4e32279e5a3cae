// Package packet owns frames as they are on the wire: views of Ethernet, IP, UDP, the RoCE headers and pause frames,
// the invariant CRC of RoCEv2, and files of captured frames (pcap, pcapng).
//
// A view is a byte slice with getters: nothing is copied and nothing is allocated. A view is made by a function that
// has checked its length, such as Decode, and its getters then need no checks of their own. The Append functions write
// the same headers; what they write reads back equal. Nothing here keeps state between frames: streams, gaps and
// retransmissions are for those who read captures.
//
// Read ethernet.go, ip.go, udp.go, bth.go and extended.go, pause.go, lrh.go for the headers, frame.go for a whole frame,
// icrc.go for its check, and capture.go, pcapng.go and writer.go for files.
package packet
