package units

import "testing"

// The expected values are bytes*8*10^12/rate, worked out by hand.
func TestSerialize(t *testing.T) {
	for _, c := range []struct {
		b    Bytes
		r    Rate
		want Duration
	}{
		{64, 400 * Gbps, 1280},
		{1, 1600 * Gbps, 5},
		{1, 3200 * Gbps, 3}, // 2.5 rounds up
		{2, 3200 * Gbps, 5},
		{4160, 400 * Gbps, 83_200},
		{1 << 40, 400 * Gbps, 21_990_232_555_520}, // past int64 in the naive product
	} {
		if got := Serialize(c.b, c.r); got != c.want {
			t.Errorf("Serialize(%d, %v) = %d ps, want %d", c.b, c.r, got, c.want)
		}
	}
}

// A train of packets takes the time of its bytes, whatever the rate: the line carries the remainder.
func TestLineCarriesRemainder(t *testing.T) {
	for _, r := range []Rate{3200 * Gbps, 400 * Gbps, 7 * Gbps, 999_999_937} {
		l, sum := NewLine(r), Duration(0)
		for range 10_000 {
			sum += l.Next(1501)
		}
		if want := Serialize(1501*10_000, r); want-sum > 1 || sum > want {
			t.Errorf("%v: a train of 10000 packets took %d ps, its bytes take %d", r, sum, want)
		}
	}
}

func TestTextForms(t *testing.T) {
	check := func(got string, err error, want string) {
		t.Helper()
		if err != nil || got != want {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
	}
	b, err := ParseBytes("256KiB")
	check(b.String(), err, "256KiB")
	b, err = ParseBytes("2MB")
	check(b.String(), err, "2MB")
	r, err := ParseRate("400 Gb/s")
	check(r.String(), err, "400Gbps")
	d, err := ParseDuration("1.5us")
	check(d.String(), err, "1.5us")
	f, err := ParseFraction("1%")
	check(f.String(), err, "1%")
	for _, bad := range []string{"", "x", "400", "400 gbit", "1e99Gbps", "-"} {
		if _, err := ParseRate(bad); err == nil {
			t.Errorf("ParseRate(%q): no error", bad)
		}
	}
	for _, bad := range []string{"-1%", "101%", "NaN", "1.01"} {
		if _, err := ParseFraction(bad); err == nil {
			t.Errorf("ParseFraction(%q): no error", bad)
		}
	}
}

// What is printed parses back, for every type.
func FuzzTextRoundTrip(f *testing.F) {
	f.Add("400Gbps")
	f.Add("1.5us")
	f.Add("256KiB")
	f.Fuzz(func(t *testing.T, s string) {
		if r, err := ParseRate(s); err == nil {
			if _, err := ParseRate(r.String()); err != nil {
				t.Fatalf("%q printed as %q: %v", s, r, err)
			}
		}
		if d, err := ParseDuration(s); err == nil {
			if _, err := ParseDuration(d.String()); err != nil {
				t.Fatalf("%q printed as %q: %v", s, d, err)
			}
		}
		if b, err := ParseBytes(s); err == nil {
			if _, err := ParseBytes(b.String()); err != nil {
				t.Fatalf("%q printed as %q: %v", s, b, err)
			}
		}
	})
}
