package wasi

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// Stream is one of the three streams with which every program begins.
type Stream uint8

// These are the streams, by the descriptors with which they begin.
const (
	Stdin Stream = iota
	Stdout
	Stderr
	streams
)

// Files are a program's descriptors: they say which number each stream has, if it has one. A program begins with the
// zero value. Files is a plain value, so that it can be kept, and given back with the rest of a program's state.
type Files struct {
	moved [streams]move
}

// move says what became of a stream's descriptor.
type move struct {
	closed  bool
	by      uint32 // its number is the stream's own number plus by, modulo 2^32
	flags   uint16
	dropped uint64 // rights that were given up
}

// moveBytes is the size of a stream in the binary form: closed, number, flags, rights; little-endian.
const moveBytes = 1 + 4 + 2 + 8

// MarshalText implements encoding.TextMarshaler. It writes 30 hex digits for each stream.
func (f Files) MarshalText() ([]byte, error) {
	all := make([]byte, 0, int(streams)*moveBytes)
	for _, m := range f.moved {
		closed := byte(0)
		if m.closed {
			closed = 1
		}
		all = binary.LittleEndian.AppendUint32(append(all, closed), m.by)
		all = binary.LittleEndian.AppendUint16(all, m.flags)
		all = binary.LittleEndian.AppendUint64(all, m.dropped)
	}
	return hex.AppendEncode(nil, all), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (f *Files) UnmarshalText(text []byte) error {
	all, err := hex.AppendDecode(nil, text)
	if err != nil || len(all) != int(streams)*moveBytes {
		return fmt.Errorf("wasi: %d bytes are no descriptors", len(text))
	}
	for s := range f.moved {
		b := all[s*moveBytes:]
		f.moved[s] = move{
			closed: b[0] != 0, by: binary.LittleEndian.Uint32(b[1:]), flags: binary.LittleEndian.Uint16(b[5:]), dropped: binary.LittleEndian.Uint64(b[7:]),
		}
	}
	return nil
}

// These are rights that the descriptors of streams have.
const (
	rightRead        = 1 << 1
	rightSetFlags    = 1 << 3
	rightWrite       = 1 << 6
	rightFilestatGet = 1 << 21
	rightPoll        = 1 << 27
)

func (s Stream) rights() uint64 {
	const all = rightSetFlags | rightFilestatGet | rightPoll
	if s == Stdin {
		return all | rightRead
	}
	return all | rightWrite
}

// These are flags of descriptors.
const (
	flagAppend   = 1 << 0
	flagDsync    = 1 << 1
	flagNonblock = 1 << 2
	flagRsync    = 1 << 3
	flagSync     = 1 << 4
)

// find returns the stream of a descriptor.
func (f *Files) find(fd uint32) (Stream, errno) {
	for s := range streams {
		if m := &f.moved[s]; !m.closed && uint32(s)+m.by == fd {
			return s, success
		}
	}
	return 0, badf
}

// may returns the stream of a descriptor that has a right. A stream never had the right of the other direction: this
// is EBADF, as in POSIX.
func (f *Files) may(fd uint32, right uint64) (Stream, errno) {
	s, e := f.find(fd)
	switch {
	case e != success:
		return 0, e
	case s.rights()&right == 0:
		return 0, badf
	case f.rights(s)&right == 0:
		return 0, notCapable
	}
	return s, success
}

// rights returns the rights that a stream's descriptor still has.
func (f *Files) rights(s Stream) uint64 { return s.rights() &^ f.moved[s].dropped }

func (f *Files) close(fd uint32) errno {
	s, e := f.find(fd)
	if e == success {
		f.moved[s] = move{closed: true}
	}
	return e
}

// renumber gives the descriptor to to the stream of from. If to has a stream, this stream is closed.
func (f *Files) renumber(from, to uint32) errno {
	s, e := f.find(from)
	switch {
	case e != success || int32(to) < 0:
		return badf
	case from == to:
		return success
	}
	_ = f.close(to) // EBADF: there was none
	f.moved[s].by = to - uint32(s)
	return success
}

// setFlags sets flags of a stream's descriptor. The flags mean nothing: streams never block, and only grow at their end.
func (f *Files) setFlags(fd uint32, flags uint16) errno {
	s, e := f.find(fd)
	switch {
	case e != success:
		return e
	case flags&^(flagAppend|flagDsync|flagNonblock|flagRsync|flagSync) != 0:
		return inval
	case flags&(flagDsync|flagRsync|flagSync) != 0:
		return notSupported
	}
	f.moved[s].flags = flags
	return success
}

// setRights gives up rights. A program never gets them back.
func (f *Files) setRights(fd uint32, base, inheriting uint64) errno {
	s, e := f.find(fd)
	switch {
	case e != success:
		return e
	case base&^f.rights(s) != 0 || inheriting != 0:
		return notCapable
	}
	f.moved[s].dropped |= s.rights() &^ base
	return success
}
