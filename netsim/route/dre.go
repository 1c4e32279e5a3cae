package route

import "github.com/shunt-network/shunt/units"

// shareBits is the precision of shares in this package's integer arithmetic.
const shareBits = 16

func fixed(f units.Fraction) int64 { return int64(float64(f)*(1<<shareBits) + 0.5) }

// DRE is the discounting rate estimator of one port (Alizadeh et al., CONGA, SIGCOMM 2014, section 3.2): it grows by the bytes of every packet
// and shrinks by a share every period, so it is about rate x period / share. The decay is made up for when somebody looks.
type DRE struct {
	x  int64 // bytes
	at int64 // the period under way began here
}

// Add counts a packet that is put on the port's queue.
func (d *DRE) Add(b units.Bytes, now units.Instant, c *CONGAParams) {
	d.decay(now.PS(), c)
	d.x += int64(b)
}

// Level is the utilisation of a port of rate r in steps of an eighth of its rate, 7 for all above.
func (d *DRE) Level(now units.Instant, r units.Rate, c *CONGAParams) uint8 {
	d.decay(now.PS(), c)
	full := int64(r.BytesPerSecond() * c.horizon)
	if full <= 0 {
		return levels - 1
	}
	return uint8(min(d.x*levels/full, levels-1))
}

// levels is how many CONGA tells apart: three bits.
const levels = 8

func (d *DRE) decay(now int64, c *CONGAParams) {
	for d.at+c.period <= now {
		if d.x == 0 {
			d.at += (now - d.at) / c.period * c.period
			return
		}
		d.x -= max(d.x*c.decay>>shareBits, 1)
		d.at += c.period
	}
}
