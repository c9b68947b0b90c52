package wasi

// These are the clocks. The specification's other two clocks, of CPU time, do not exist here; they are EINVAL, as the
// specification says.
const (
	clockRealtime  = 0
	clockMonotonic = 1
)

func clockResGet(c *call) errno {
	switch c.u32(0) {
	case clockRealtime:
		return c.set64(1, walltimeResolution)
	case clockMonotonic:
		return c.set64(1, monotonicResolution)
	}
	return inval
}

func clockTimeGet(c *call) errno {
	now, ok := c.now(c.u32(0))
	if !ok {
		return inval
	}
	return c.set64(2, uint64(now))
}

func (c *call) now(clock uint32) (ns int64, ok bool) {
	switch clock {
	case clockRealtime:
		return c.Walltime(), true
	case clockMonotonic:
		return c.Monotonic(), true
	}
	return 0, false
}

func randomGet(c *call) errno {
	buf, ok := c.view(c.u32(0), c.u32(1))
	if !ok {
		return fault
	}
	for len(buf) > 0 {
		n := min(len(buf), PieceBytes)
		c.Charge(n)
		if c.Random(buf[:n]) != nil {
			return ioError
		}
		buf = buf[n:]
	}
	return success
}
