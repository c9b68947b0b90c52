package wasi

import "math"

// listSizes makes a function that tells how many strings a list has, and how many bytes they have with a zero behind each.
func listSizes(of func(Process) []string) func(*call) errno {
	return func(c *call) errno {
		list := of(c.Process)
		bytes := 0
		for _, s := range list {
			bytes += len(s) + 1
		}
		if bytes > math.MaxInt32 {
			return inval // no guest could hold it
		}
		if e := c.set(0, uint32(len(list))); e != success {
			return e
		}
		return c.set(1, uint32(bytes))
	}
}

// zero stands behind each string.
var zero = []byte{0}

// listGet makes a function that writes the strings of a list, and where each is.
func listGet(of func(Process) []string) func(*call) errno {
	return func(c *call) errno {
		pointers, buffer := c.u32(0), c.u32(1)
		for _, s := range of(c.Process) {
			c.Charge(len(s))
			if !c.mem.WriteUint32Le(pointers, buffer) || !c.mem.WriteString(buffer, s) {
				return fault
			}
			if buffer += uint32(len(s)); !c.mem.Write(buffer, zero) {
				return fault
			}
			pointers += 4
			buffer++
		}
		return success
	}
}
