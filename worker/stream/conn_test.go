package stream

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/taskrt/taskrt/task"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pair returns two connected ends. They are closed at the end of the test.
func pair(t *testing.T, a, b Options) (*Conn, *Conn) {
	t.Helper()
	x, y := net.Pipe()
	return wrap(t, x, a), wrap(t, y, b)
}

func wrap(t *testing.T, nc net.Conn, o Options) *Conn {
	t.Helper()
	c, err := New(nc, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func report(id uint64, size int) Report {
	return Report{ID: id, Finish: &task.Finish{
		Key: task.Key{Namespace: "default", ID: "abc"}, Token: 7, Seq: id,
		Result: task.Payload{Encoding: task.Bytes, Data: bytes.Repeat([]byte{'x'}, size)},
	}}
}

// samples returns one frame of every kind.
func samples() []Frame {
	key := task.Key{Namespace: "default", ID: "abc"}
	return []Frame{
		{Hello: &Hello{Worker: "w1", Node: "n1", Slots: 4, Proof: []byte{1}, Session: 5, Acked: 6, Held: []uint64{7}, Ready: []string{"d"}, Credits: 3, ABI: []int{1}}},
		{Renew: &Renew{N: 1, Acked: 2, Held: []uint64{3}}},
		{Reports: []Report{report(1, 3), {ID: 2, Beat: &task.Beat{Key: key, Token: 7, Seq: 2, Progress: &task.Payload{Encoding: task.JSON, Data: []byte("1")}}}, {ID: 3, Snooze: &task.Snooze{Key: key, Token: 7, Seq: 3}}, {ID: 4, GiveBack: &task.GiveBack{Key: key, Token: 7}}}},
		{Ready: []string{"d1", "d2"}},
		{Credits: &Credits{Seq: 1, Free: 2}},
		{Logs: []Log{{Key: key, Token: 7, Attempt: 1, Data: []byte("hi\n")}}},
		{Progress: []Progress{{Key: key, Token: 7, Progress: task.Payload{Encoding: task.JSON, Data: []byte("1")}}}},
		{Pace: []Pace{{Behavior: Behavior{Module: strings.Repeat("ab", 32), Index: 3}, Short: true}, {Behavior: Behavior{Module: "m"}}}},
		{Unready: []Unready{{Module: strings.Repeat("ab", 32), Step: Pausing, For: 1500, Failed: 2, Error: "no"}, {Module: "m"}}},
		{Ask: &Ask{ID: 1, Key: key, Token: 7, Op: 8, Payload: []byte("{}")}},
		{Bye: &Bye{}},
		{Welcome: &Welcome{Session: 5, TTL: 10_000, Resumed: true, Leader: "n1"}},
		{Refused: &Refused{Code: NotLeader, Message: "no", Leader: "h:1"}},
		{Renewed: &Renewed{N: 1, Halt: []uint64{1}, Cancel: []uint64{2}}},
		{Acks: []Ack{{ID: 1, Code: task.Halt, Message: "m", Retry: true, Repeated: true}}},
		{Assign: []Assignment{{Task: &task.Task{Namespace: "default", ID: "abc", Status: task.Running, Lease: &task.Lease{Token: 7, Seq: 1}}, Policy: new(task.DefaultPolicy()), Module: Module{Digest: "d", Size: 9}}}},
		{Cancel: []uint64{1}},
		{Halt: []uint64{1}},
		{Prepare: []Module{{Digest: "d", Size: 9}}},
		{Goodbye: &Goodbye{}},
		{NotFound: true},
		{Answer: &Answer{ID: 1, Status: -4, Payload: []byte("x")}},
		{Suspects: &Suspects{Wait: true}},
		{Crash: &task.CrashSession{Worker: "w1", Proof: []byte("p"), Before: 1 << 32, Tokens: []uint64{7, 8}}},
	}
}

func TestEveryKindSurvives(t *testing.T) {
	a, b := pair(t, Options{}, Options{})
	if got, want := len(samples()), reflect.TypeFor[Frame]().NumField(); got != want {
		t.Fatalf("samples has %d kinds, Frame %d", got, want)
	}
	for _, want := range samples() {
		if err := a.Send(want); err != nil {
			t.Fatal(err)
		}
		got, err := b.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v\nwant %+v", got, want)
		}
	}
}

func TestLongListsTravelAsSeveralFrames(t *testing.T) {
	a, b := pair(t, Options{MaxFrame: 1000}, Options{MaxFrame: 1000})
	var all []Report
	for i := range uint64(50) {
		all = append(all, report(i+1, 100))
	}
	if err := a.Send(Frame{Reports: all}); err != nil {
		t.Fatal(err)
	}
	var got []Report
	frames := 0
	for len(got) < len(all) {
		f, err := b.Recv()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, f.Reports...)
		frames++
	}
	if !reflect.DeepEqual(got, all) {
		t.Error("the parts do not add up to the list, in order")
	}
	if frames < 2 {
		t.Errorf("%d frames; the list does not fit in one", frames)
	}
}

func TestElementThatFitsInNoFrame(t *testing.T) {
	a, b := pair(t, Options{MaxFrame: 1000}, Options{})
	err := a.Send(Frame{Reports: []Report{report(1, 10), report(2, 2000), report(3, 10)}})
	if !errors.Is(err, ErrFrameTooLarge) {
		t.Fatalf("got %v", err)
	}
	if err := a.Send(Frame{NotFound: true}); err != nil { // nothing of the refused list was queued
		t.Fatal(err)
	}
	if f, err := b.Recv(); err != nil || !f.NotFound {
		t.Fatalf("got %+v, %v", f, err)
	}
}

// raw sends bytes past the encoder.
func raw(t *testing.T, o Options, in []byte) (Frame, error) {
	t.Helper()
	x, y := net.Pipe()
	go func() {
		x.Write(in)
		x.Close()
	}()
	return wrap(t, y, o).Recv()
}

func framed(body []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

func TestRefusedBytes(t *testing.T) {
	for _, c := range []struct {
		name string
		in   []byte
		want error
	}{
		{"nothing", nil, io.EOF},
		{"half a header", []byte{0, 0}, io.ErrUnexpectedEOF},
		{"half a body", []byte{0, 0, 0, 9, 0xa1}, io.ErrUnexpectedEOF},
		{"too large", []byte{0, 1, 0, 0}, ErrFrameTooLarge},
		{"not cbor", framed([]byte{0xff}), ErrBadFrame},
		{"not a map", framed([]byte{0x01}), ErrBadFrame},
		{"two kinds", framed([]byte{0xa2, 0x18, 21, 0x81, 1, 0x18, 22, 0x81, 1}), ErrBadFrame},
		{"key twice", framed([]byte{0xa2, 0x18, 21, 0x81, 1, 0x18, 21, 0x81, 1}), ErrBadFrame},
		{"trailing bytes", framed([]byte{0xa1, 0x18, 25, 0xf5, 0}), ErrBadFrame},
		{"string that is not UTF-8", framed([]byte{0xa1, 0x04, 0x81, 0x61, 0xff}), ErrBadFrame},
	} {
		t.Run(c.name, func(t *testing.T) {
			if f, err := raw(t, Options{MaxFrame: 1 << 10}, c.in); !errors.Is(err, c.want) {
				t.Errorf("got %+v, %v; want %v", f, err, c.want)
			}
		})
	}
}

func TestUnknownKindsAreSkipped(t *testing.T) {
	in := append(framed([]byte{0xa1, 0x18, 99, 0xf5}), framed([]byte{0xa1, 0x18, 25, 0xf5})...)
	if f, err := raw(t, Options{}, in); err != nil || !f.NotFound {
		t.Errorf("got %+v, %v", f, err)
	}
}

func TestManySenders(t *testing.T) {
	a, b := pair(t, Options{}, Options{})
	const senders, each = 8, 100
	var wg sync.WaitGroup
	for s := range uint64(senders) {
		wg.Go(func() {
			for i := range uint64(each) {
				if err := a.Send(Frame{Renew: &Renew{N: i, Acked: s}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	next := map[uint64]uint64{}
	for range senders * each {
		f, err := b.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if f.Renew.N != next[f.Renew.Acked] {
			t.Fatalf("sender %d: got %d, want %d", f.Renew.Acked, f.Renew.N, next[f.Renew.Acked])
		}
		next[f.Renew.Acked]++
	}
	wg.Wait()
}

func TestPeerThatTakesNothingIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := pair(t, Options{WriteTimeout: time.Second}, Options{})
		if err := a.Send(Frame{NotFound: true}); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if err := a.Flush(t.Context()); !errors.Is(err, ErrSlow) {
			t.Errorf("got %v", err)
		}
		if d := time.Since(start); d != time.Second {
			t.Errorf("cut off after %v", d)
		}
		if err := a.Send(Frame{NotFound: true}); !errors.Is(err, ErrSlow) {
			t.Errorf("send after it: %v", err)
		}
		if _, err := a.Recv(); err == nil {
			t.Error("the connection still receives")
		}
	})
}

func TestQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := pair(t, Options{QueueBytes: 10_000}, Options{})
		for i := range uint64(100) {
			err := a.Send(Frame{Reports: []Report{report(i, 1000)}})
			if errors.Is(err, ErrSlow) {
				if i < 9 {
					t.Errorf("cut off at frame %d", i)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		t.Error("100 kB wait in a queue of 10 kB")
	})
}

func TestFlushThenClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pair(t, Options{}, Options{})
		got := make(chan error, 1)
		go func() {
			f, err := b.Recv()
			if err == nil && f.Refused == nil {
				err = errors.New("another frame")
			}
			if err == nil {
				_, err = b.Recv()
			}
			got <- err
		}()
		if err := a.Send(Frame{Refused: &Refused{Code: NotLeader, Message: strings.Repeat("x", 1<<20)}}); err != nil {
			t.Fatal(err)
		}
		if err := a.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		a.Close()
		a.Close()
		if err := <-got; !errors.Is(err, io.EOF) {
			t.Errorf("peer got %v", err)
		}
		if err := a.Send(Frame{NotFound: true}); !errors.Is(err, ErrClosed) {
			t.Errorf("send after close: %v", err)
		}
	})
}

func TestFlushEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := pair(t, Options{WriteTimeout: time.Hour}, Options{})
		a.Send(Frame{NotFound: true})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := a.Flush(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

// FuzzDecode: the decoder never panics, and a frame that it accepts survives another trip unchanged.
func FuzzDecode(f *testing.F) {
	cd, err := newCodec()
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range samples() {
		b, err := cd.append(nil, &s, MaxFrame)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b[HeaderSize:])
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		x, err := cd.decode(body)
		if d := differs(&cd, body); d != "" {
			t.Fatal(d)
		}
		if err != nil {
			return
		}
		fast, ok, err := cd.appendByHand(nil, &x)
		if library, err2 := cd.appendByLibrary(nil, &x); err == nil && ok && (err2 != nil || !bytes.Equal(fast, library)) {
			t.Fatalf("written %x, by the library %x, %v", fast, library, err2)
		}
		again, err := cd.append(nil, &x, MaxFrame)
		if err != nil {
			t.Fatalf("decoded but not encoded: %v", err)
		}
		y, err := cd.decode(again[HeaderSize:])
		if err != nil {
			t.Fatalf("own encoding refused: %v", err)
		}
		third, err := cd.append(nil, &y, MaxFrame)
		if err != nil || !bytes.Equal(again, third) {
			t.Fatalf("encoding is not stable: %x, %x, %v", again, third, err)
		}
	})
}

// TestAssignmentsShareTheirVersion: what assignments have in common travels once in a frame. In the end each assignment
// has it, even when a list is cut into several frames.
func TestAssignmentsShareTheirVersion(t *testing.T) {
	policy := func(n int64) *task.Policy {
		p := task.DefaultPolicy()
		p.RunTimeout = task.Millis(n)
		return &p
	}
	var as []Assignment
	for i, kind := range strings.Split("aaabbaccccab", "") {
		as = append(as, Assignment{
			Task:   &task.Task{Namespace: "default", ID: "x", Behavior: "b-" + kind, Version: "v-" + kind, Status: task.Running, Rev: uint64(i), Lease: &task.Lease{Seq: uint64(i)}},
			Policy: policy(int64(kind[0])), Module: Module{Digest: "m", Size: 9},
		})
	}
	for _, max := range []int{MaxFrame, 400} {
		a, b := pair(t, Options{MaxFrame: max}, Options{})
		if err := a.Send(Frame{Assign: as}); err != nil {
			t.Fatal(err)
		}
		var got []Assignment
		frames := 0
		for ; len(got) < len(as); frames++ {
			f, err := b.Recv()
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, f.Assign...)
		}
		if !reflect.DeepEqual(got, as) {
			t.Errorf("in %d frames:\n%+v\nwant\n%+v", frames, got, as)
		}
		if max < MaxFrame && frames < 3 {
			t.Errorf("%d frames: nothing was cut", frames)
		}
	}
	cd, err := newCodec()
	if err != nil {
		t.Fatal(err)
	}
	size := func(as ...Assignment) int {
		enc, err := cd.append(nil, &Frame{Assign: as}, MaxFrame)
		if err != nil {
			t.Fatal(err)
		}
		return len(enc)
	}
	one, next := size(as[0]), size(as[0], as[1])-size(as[0])
	if bare := size(Assignment{Task: as[1].Task}); next >= bare || one < bare+20 {
		t.Errorf("the first takes %d bytes, the second %d, a task alone %d", one, next, bare)
	}
}
