package wasi

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

func clockSub(user uint64, clock uint32, timeout uint64, flags uint16) []byte {
	b := make([]byte, subscriptionBytes)
	le.PutUint64(b, user)
	b[8] = eventClock
	le.PutUint32(b[16:], clock)
	le.PutUint64(b[24:], timeout)
	le.PutUint64(b[32:], 1) // precision
	le.PutUint16(b[40:], flags)
	return b
}

func fdSub(user uint64, kind byte, fd uint32) []byte {
	b := make([]byte, subscriptionBytes)
	le.PutUint64(b, user)
	b[8] = kind
	le.PutUint32(b[16:], fd)
	return b
}

func event(user uint64, e errno, kind byte, bytes uint64, flags uint16) string {
	b := binary.LittleEndian.AppendUint64(nil, user)
	b = binary.LittleEndian.AppendUint16(b, uint16(e))
	b = append(b, kind, 0, 0, 0, 0, 0)
	b = binary.LittleEndian.AppendUint64(b, bytes)
	b = binary.LittleEndian.AppendUint16(b, flags)
	return string(append(b, 0, 0, 0, 0, 0, 0))
}

// Memory of the tests: subscriptions from 1024 on, events from 32768 on, their number at 8.
const (
	subsAt   = 1024
	eventsAt = 32768
)

func TestPoll(t *testing.T) {
	const second = uint64(time.Second)
	read, write := fdSub(1, eventFdRead, 0), fdSub(2, eventFdWrite, 1)
	for _, tt := range []struct {
		name   string
		subs   [][]byte
		late   time.Duration
		before func(*program)
		waits  time.Duration
		events []string
	}{
		{name: "a clock", subs: [][]byte{clockSub(7, 1, second, 0)}, waits: time.Second, events: []string{event(7, success, eventClock, 0, 0)}},
		{name: "the wall clock", subs: [][]byte{clockSub(7, 0, second, 0)}, waits: time.Second, events: []string{event(7, success, eventClock, 0, 0)}},
		{
			name: "two clocks: the first", subs: [][]byte{clockSub(7, 1, 300e6, 0), clockSub(9, 1, 30*second, 0)},
			waits: 300 * time.Millisecond, events: []string{event(7, success, eventClock, 0, 0)},
		},
		{
			name: "two clocks, the other way round", subs: [][]byte{clockSub(7, 1, 30*second, 0), clockSub(9, 1, 300e6, 0)},
			waits: 300 * time.Millisecond, events: []string{event(9, success, eventClock, 0, 0)},
		},
		{
			name: "two clocks at once", subs: [][]byte{clockSub(7, 1, second, 0), clockSub(9, 0, second, 0)},
			waits: time.Second, events: []string{event(7, success, eventClock, 0, 0), event(9, success, eventClock, 0, 0)},
		},
		{
			name: "a second clock goes off meanwhile", late: time.Second, subs: [][]byte{clockSub(7, 1, second, 0), clockSub(9, 1, 2*second, 0), clockSub(11, 1, 2*second+1, 0)},
			waits: time.Second, events: []string{event(7, success, eventClock, 0, 0), event(9, success, eventClock, 0, 0)},
		},
		{name: "a clock of no time", subs: [][]byte{clockSub(7, 1, 0, 0)}, events: []string{event(7, success, eventClock, 0, 0)}},
		{name: "for ever", subs: [][]byte{clockSub(7, 1, math.MaxUint64, 0)}, waits: math.MaxInt64, events: []string{event(7, success, eventClock, 0, 0)}},
		{name: "for ever, as a time", subs: [][]byte{clockSub(7, 1, math.MaxUint64, 1)}, waits: math.MaxInt64, events: []string{event(7, success, eventClock, 0, 0)}},
		{name: "longer than a duration", subs: [][]byte{clockSub(7, 1, 1<<63, 0)}, waits: math.MaxInt64, events: []string{event(7, success, eventClock, 0, 0)}},
		{name: "a time", subs: [][]byte{clockSub(7, 1, 5_000+second, 1)}, waits: time.Second, events: []string{event(7, success, eventClock, 0, 0)}},
		{name: "a time on the wall clock", subs: [][]byte{clockSub(7, 0, 1_800_000_002_000_000_000, 1)}, waits: 2 * time.Second, events: []string{event(7, success, eventClock, 0, 0)}},
		{name: "a time that has passed", subs: [][]byte{clockSub(7, 1, 4_999, 1), clockSub(9, 1, 5_001, 1)}, events: []string{event(7, success, eventClock, 0, 0)}},
		{name: "an unknown clock", subs: [][]byte{clockSub(7, 2, second, 0), clockSub(9, 1, second, 0)}, events: []string{event(7, inval, eventClock, 0, 0)}},
		{name: "an unknown flag", subs: [][]byte{clockSub(7, 1, second, 2)}, events: []string{event(7, inval, eventClock, 0, 0)}},

		{name: "standard input", subs: [][]byte{read}, events: []string{event(1, success, eventFdRead, 5, 0)}},
		{
			name: "the end of standard input", subs: [][]byte{read}, before: func(p *program) { p.stdin.Reset("") },
			events: []string{event(1, success, eventFdRead, 0, streamHangup)},
		},
		{name: "standard output", subs: [][]byte{write}, events: []string{event(2, success, eventFdWrite, writable, 0)}},
		{
			name: "streams before clocks", subs: [][]byte{read, clockSub(9, 1, second, 0), write, clockSub(11, 1, 0, 0)},
			events: []string{event(1, success, eventFdRead, 5, 0), event(2, success, eventFdWrite, writable, 0), event(11, success, eventClock, 0, 0)},
		},
		{
			name: "descriptors that are not open, or for the other direction",
			subs: [][]byte{fdSub(1, eventFdRead, 3), fdSub(2, eventFdWrite, math.MaxUint32), fdSub(3, eventFdRead, 1), fdSub(4, eventFdWrite, 0), clockSub(9, 1, second, 0)},
			events: []string{
				event(1, badf, eventFdRead, 0, 0), event(2, badf, eventFdWrite, 0, 0), event(3, badf, eventFdRead, 0, 0), event(4, badf, eventFdWrite, 0, 0),
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, m := newProgram(), newMemory(subsAt, slices.Concat(tt.subs...)...)
			if p.late = tt.late; tt.before != nil {
				tt.before(p)
			}
			copy(m.bytes[eventsAt:], strings.Repeat("?", 1024))
			e := p.call(t, m, "poll_oneoff", subsAt, eventsAt, uint64(len(tt.subs)), 8)
			n := int(le.Uint32(m.bytes[8:]))
			want := strings.Join(tt.events, "")
			if e != success || n != len(tt.events) || string(m.bytes[eventsAt:][:len(want)]) != want || m.bytes[eventsAt+len(want)] != '?' {
				t.Errorf("status %d, %d events %x\nwant %d %x", e, n, m.bytes[eventsAt:][:len(want)], len(tt.events), want)
			}
			if !slices.Equal(p.waited, []time.Duration{tt.waits}) {
				t.Errorf("waited %v, want %v", p.waited, tt.waits)
			}
		})
	}
}

func TestPollRefuses(t *testing.T) {
	for _, tt := range []struct {
		name   string
		params []uint64
		sub    []byte
		want   errno
	}{
		{"nothing", []uint64{subsAt, eventsAt, 0, 8}, nil, inval},
		{"too much", []uint64{subsAt, eventsAt, MaxSubscriptions + 1, 8}, nil, inval},
		{"more than can be", []uint64{subsAt, eventsAt, math.MaxUint32, 8}, nil, inval},
		{"a count whose bytes wrap around", []uint64{subsAt, eventsAt, 1 << 28, 8}, nil, inval},
		{"subscriptions outside", []uint64{memorySize - 47, eventsAt, 1, 8}, nil, fault},
		{"events outside", []uint64{subsAt, memorySize - 31, 1, 8}, nil, fault},
		{"no place for the number", []uint64{subsAt, eventsAt, 1, outside}, nil, fault},
		{"an unknown type", []uint64{subsAt, eventsAt, 1, 8}, fdSub(1, 3, 0), inval},
	} {
		p := newProgram()
		if e := p.call(t, newMemory(subsAt, tt.sub...), "poll_oneoff", tt.params...); e != tt.want || len(p.waited) != 0 {
			t.Errorf("%s: status %d, want %d; waited %v", tt.name, e, tt.want, p.waited)
		}
	}
}

// TestPollIsBounded: a poll may have the greatest number of subscriptions, and not one more, whatever fits into
// memory.
func TestPollIsBounded(t *testing.T) {
	m := &memory{bytes: make([]byte, 16<<20)}
	p := newProgram()
	for i := range MaxSubscriptions {
		m.bytes[i*subscriptionBytes+8] = eventFdRead
	}
	if e := p.call(t, m, "poll_oneoff", 0, 8<<20, MaxSubscriptions, 4<<20); e != success || le.Uint32(m.bytes[4<<20:]) != MaxSubscriptions {
		t.Errorf("status %d, %d events", e, le.Uint32(m.bytes[4<<20:]))
	}
	if p.charged != MaxSubscriptions*subscriptionBytes {
		t.Errorf("charged %d", p.charged)
	}
}
