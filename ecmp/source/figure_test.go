package source

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/shunt-network/shunt/ecmp"
	"github.com/shunt-network/shunt/spray"
)

var update = flag.Bool("update", false, "rewrite examples/hash/parameter-servers.csv")

const figureFile = "../../examples/hash/parameter-servers.csv"

// figure is 1024 flows of 128 cards and their parameter servers, as article 000 describes its cluster: 686 flows of all-reduce between cards, each
// to those next to it, and 338 to parameter servers. The cards have 198.18.4.0 to .127, the servers the two blocks behind. RoCE and TCP ports count up, as
// they do where connections open one after the other.
func figure() []byte {
	var b bytes.Buffer
	b.WriteString("src,dst,proto,sport,dport\n")
	for k := range 686 {
		card := k % 128
		fmt.Fprintf(&b, "198.18.4.%d,198.18.4.%d,udp,%d,4791\n", card, (card+1+k/128)%128, 49152+k)
	}
	for k := range 338 {
		fmt.Fprintf(&b, "198.18.4.%d,198.18.%d.%d,tcp,%d,2222\n", k*3%128, 5+k%2, 1+k*3/2%254, 32768+k)
	}
	return b.Bytes()
}

// Article 000's figure (S0.7): of 1024 flow ids 67 % lie in the first 128 buckets, and the last 256 are empty. The XOR of both addresses does that to this
// address plan, whatever the flows carry: cards of one /25 differ in seven bits. A CRC does not, over the addresses and over the 5-tuple alike.
func TestTheArticlesFigure(t *testing.T) {
	if *update {
		if err := os.WriteFile(figureFile, figure(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(figureFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(kept, figure()) {
		t.Errorf("%s is not what this test makes; rewrite it with -update", figureFile)
	}
	set, err := CSV("figure.csv", bytes.NewReader(kept))
	if err != nil {
		t.Fatal(err)
	}
	of := func(a spray.Algorithm, f ecmp.Fields) ecmp.Occupancy {
		r, err := ecmp.Analyse(context.Background(), set, ecmp.Options{Config: ecmp.Config{Fields: f, Hash: spray.HashConfig{Algorithm: a}}})
		if err != nil {
			t.Fatal(err)
		}
		return r.Occupancy
	}
	xor := of(spray.XOR, ecmp.SrcIP|ecmp.DstIP)
	if share := float64(xor.Head) / 1024; xor.Flows != 1024 || xor.HeadBuckets != 128 || math.Abs(share-0.67) > 0.005 || xor.Tail != 256 {
		t.Errorf("%d of %d flows in the first %d buckets, %d empty at the end", xor.Head, xor.Flows, xor.HeadBuckets, xor.Tail)
	}
	if !xor.Skewed() || xor.HeadP > 1e-100 {
		t.Errorf("chance explains it: p %v and %v", xor.P, xor.HeadP)
	}
	for _, f := range []ecmp.Fields{ecmp.SrcIP | ecmp.DstIP, ecmp.FiveTuple} {
		for _, a := range []spray.Algorithm{spray.CRC32, spray.CRC32C} {
			o := of(a, f)
			if share := float64(o.Head) / 1024; o.Skewed() || math.Abs(share-0.125) > 0.05 || o.Tail > 16 {
				t.Errorf("%s of %s: %.1f %% in the first 128, %d empty at the end, p %v", a, f, 100*share, o.Tail, o.P)
			}
		}
	}
}
