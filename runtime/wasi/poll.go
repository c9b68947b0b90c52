package wasi

import (
	"math"
	"time"
)

// Layout of subscriptions and events, in bytes.
const (
	subscriptionBytes = 48
	eventBytes        = 32
)

// Types of events.
const (
	eventClock   = 0
	eventFdRead  = 1
	eventFdWrite = 2
)

// Flags of subscriptions to clocks, and of events of descriptors.
const (
	clockAbsolute = 1
	streamHangup  = 1
)

// writable is how much a stream says that it would take: any number will do.
const writable = PieceBytes

// subscription is an event for which a program waits.
type subscription struct {
	user  uint64
	kind  byte
	error errno
	after time.Duration // of a clock: from now on; 0 for an event that is ready
	bytes uint64        // of a stream
	flags uint16
}

// pollOneoff waits until the first of the events, and tells all events that have occurred by then. Streams are always
// ready, so it waits only if all events are clocks. A subscription that makes no sense is an event with its error.
func pollOneoff(c *call) errno {
	n := c.u32(2)
	if n == 0 || n > MaxSubscriptions {
		return inval
	}
	in, ok := c.view(c.u32(0), n*subscriptionBytes)
	if !ok {
		return fault
	}
	if _, ok := c.view(c.u32(1), n*eventBytes); !ok {
		return fault
	}
	if _, ok := c.view(c.u32(3), 4); !ok {
		return fault
	}
	c.Charge(len(in))
	subs := make([]subscription, n)
	first := time.Duration(math.MaxInt64)
	for i := range subs {
		if !c.subscribe(&subs[i], in[i*subscriptionBytes:]) {
			return inval
		}
		first = min(first, subs[i].after)
	}
	passed := c.Wait(first)
	out, ok := c.view(c.u32(1), n*eventBytes)
	if !ok {
		return fault
	}
	events := uint32(0)
	for i := range subs {
		if s := &subs[i]; s.after <= max(first, passed) {
			s.write(out[events*eventBytes:])
			events++
		}
	}
	return c.set(3, events)
}

// subscribe reads one subscription. It returns false if the type is unknown.
func (c *call) subscribe(s *subscription, b []byte) bool {
	s.user, s.kind = le.Uint64(b), b[8]
	switch s.kind {
	case eventClock:
		s.after, s.error = c.after(le.Uint32(b[16:]), le.Uint64(b[24:]), le.Uint16(b[40:]))
	case eventFdRead:
		if _, s.error = c.Files().may(le.Uint32(b[16:]), rightRead); s.error == success {
			left := c.Stdin().Left()
			s.bytes = uint64(left)
			if left == 0 {
				s.flags = streamHangup
			}
		}
	case eventFdWrite:
		if _, s.error = c.Files().may(le.Uint32(b[16:]), rightWrite); s.error == success {
			s.bytes = writable
		}
	default:
		return false
	}
	return true
}

// after is the time from now until a clock is to go off; it is never negative. Times are unsigned. A time that is too
// long for a Duration, nearly three centuries, is for ever.
func (c *call) after(clock uint32, timeout uint64, flags uint16) (time.Duration, errno) {
	now, ok := c.now(clock)
	if !ok || flags&^clockAbsolute != 0 {
		return 0, inval
	}
	if flags&clockAbsolute != 0 {
		if timeout <= uint64(max(0, now)) {
			return 0, success
		}
		timeout -= uint64(max(0, now))
	}
	return time.Duration(min(timeout, math.MaxInt64)), success
}

func (s *subscription) write(b []byte) {
	clear(b[:eventBytes])
	le.PutUint64(b, s.user)
	le.PutUint16(b[8:], uint16(s.error))
	b[10] = s.kind
	le.PutUint64(b[16:], s.bytes)
	le.PutUint16(b[24:], s.flags)
}
