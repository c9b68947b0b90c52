package wasi

import (
	"errors"
	"io"
)

// typeUnknown is the file type of a stream that is neither file, directory, device nor socket: a pipe.
const typeUnknown = 0

func fdFdstatGet(c *call) errno {
	s, e := c.Files().find(c.u32(0))
	if e != success {
		return e
	}
	b, ok := c.view(c.u32(1), 24)
	if !ok {
		return fault
	}
	clear(b)
	b[0] = typeUnknown
	le.PutUint16(b[2:], c.Files().moved[s].flags)
	le.PutUint64(b[8:], c.Files().rights(s))
	return success // fs_rights_inheriting, behind it: nothing can be opened
}

func fdFdstatSetFlags(c *call) errno {
	flags := c.u32(1)
	if flags > 0xffff {
		return inval
	}
	return c.Files().setFlags(c.u32(0), uint16(flags))
}

func fdFdstatSetRights(c *call) errno { return c.Files().setRights(c.u32(0), c.u64(1), c.u64(2)) }

func fdFilestatGet(c *call) errno {
	if _, e := c.Files().find(c.u32(0)); e != success {
		return e
	}
	b, ok := c.view(c.u32(1), 64)
	if !ok {
		return fault
	}
	clear(b)
	b[16] = typeUnknown
	le.PutUint64(b[24:], 1) // links
	return success
}

func fdAdvise(c *call) errno {
	const advices = 6
	if c.u32(3) >= advices {
		return inval
	}
	return onStream(spipe)(c)
}

func fdSeek(c *call) errno {
	const whences = 3
	if c.u32(2) >= whences {
		return inval
	}
	return onStream(spipe)(c)
}

// vectors returns the buffers that parameters 1 and 2 name. All of them must be in memory before any of them is used.
func (c *call) vectors() (list []byte, e errno) {
	n := c.u32(2)
	if n > MaxVectors {
		return nil, inval
	}
	list, ok := c.view(c.u32(1), 8*n)
	if !ok {
		return nil, fault
	}
	for i := 0; i < len(list); i += 8 {
		if _, ok := c.view(le.Uint32(list[i:]), le.Uint32(list[i+4:])); !ok {
			return nil, fault
		}
	}
	if _, ok := c.view(c.u32(3), 4); !ok {
		return nil, fault
	}
	return list, success
}

// pieces calls move for the buffers of list, at most PieceBytes at a time, until it has moved most bytes in all. It
// reads the list buffer by buffer, as the list is at this moment: bytes read into memory may have changed it, and
// then the guest has only itself to blame.
func (c *call) pieces(list []byte, most int64, move func(p []byte) (int, errno)) (total int64, e errno) {
	for i := 0; i < len(list) && total < most; i += 8 {
		buf, ok := c.view(le.Uint32(list[i:]), le.Uint32(list[i+4:]))
		if !ok {
			return total, fault
		}
		for len(buf) > 0 && total < most {
			piece := buf[:min(int64(len(buf)), PieceBytes, most-total)]
			c.Charge(len(piece))
			n, e := move(piece)
			total += int64(n)
			if e != success || n < len(piece) {
				return total, e
			}
			buf = buf[n:]
		}
	}
	return total, success
}

// maxMoved is how many bytes one call may move at most: its count has 32 bits, and many programs take it as signed.
const maxMoved = 1<<31 - 1

func fdRead(c *call) errno {
	if _, e := c.Files().may(c.u32(0), rightRead); e != success {
		return e
	}
	list, e := c.vectors()
	if e != success {
		return e
	}
	in := c.Stdin()
	total, e := c.pieces(list, min(in.Left(), maxMoved), func(p []byte) (int, errno) {
		n, err := io.ReadFull(in, p)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return n, ioError
		}
		return n, success
	})
	if e != success {
		return e
	}
	return c.set(3, uint32(total))
}

func fdWrite(c *call) errno {
	s, e := c.Files().may(c.u32(0), rightWrite)
	if e != success {
		return e
	}
	list, e := c.vectors()
	if e != success {
		return e
	}
	sum := int64(0)
	for i := 4; i < len(list); i += 8 {
		sum += int64(le.Uint32(list[i:]))
	}
	if sum > maxMoved {
		return inval
	}
	total, e := c.pieces(list, sum, func(p []byte) (int, errno) {
		c.Output(s, p)
		return len(p), success
	})
	if e != success {
		return e
	}
	return c.set(3, uint32(total))
}
