package spray_test

import (
	"fmt"

	"github.com/shunt-network/shunt/spray"
	"github.com/shunt-network/shunt/units"
)

// Two vendors read the high byte of a context id as two different things. Neither has room for a version, so nobody notices.
func ExampleMisread() {
	r, err := spray.Misread(spray.LayoutTimeHigh, spray.LayoutPathHigh)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("rejected %.0f %%, wrong %v, right %v\n", 100*r.Rejected, r.Wrong, r.Right)
	// Output: rejected 0 %, wrong [path time], right [qp sequence]
}

// A receiver that knows the oldest missing packet gets the whole number back from ten bits.
func ExampleCodec_Unwrap() {
	c, err := spray.NewCodec(spray.LayoutV2)
	if err != nil {
		fmt.Println(err)
		return
	}
	id := c.Encode(spray.Context{Sequence: 70_123, Path: 5})
	x, err := c.Decode(id)
	fmt.Printf("%#04x: %d of path %d (%v)\n", id, c.Unwrap(x.Sequence, 70_000), x.Path, err)
	fmt.Println("needed:", spray.NeededWindow(20*units.Microsecond, 400*units.Gbps, spray.RoCEWire), "had:", spray.LayoutV2.Window())
	// Output:
	// 0x9eb5: 70123 of path 5 (<nil>)
	// needed: 240 had: 512
}

// Past how many nodes the rules of article 000 run out, with one NIC of each node below a leaf and four queue pairs a connection.
func ExampleRules_Bites() {
	r := spray.DefaultRules()
	for _, r.Limit = range []int{spray.DefaultRuleLimit, spray.RoCEPartition, spray.RaisedRuleLimit} {
		hosts, _ := r.Bites()
		fmt.Println(r.Limit, "rules run out at", hosts)
	}
	// Output:
	// 16384 rules run out at 65
	// 24576 rules run out at 79
	// 32768 rules run out at 92
}
