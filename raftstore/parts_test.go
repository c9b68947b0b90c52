package raftstore

import (
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/taskrt/taskrt/internal/mux"
	"github.com/taskrt/taskrt/task"
)

// handClock is set by hand.
type handClock struct {
	wall time.Time
	mono time.Duration
}

func (c *handClock) Wall() time.Time     { return c.wall }
func (c *handClock) Mono() time.Duration { return c.mono }

// TestStamper goes through the cases of SPEC C3.
func TestStamper(t *testing.T) {
	at := func(ms int64) time.Time { return time.UnixMilli(ms) }
	c := &handClock{wall: at(1_000_000), mono: 50 * time.Second}
	s := newStamper(c, 900_000, 7_000)
	step := func(wall int64, mono time.Duration, now task.Time, lease task.LeaseTime) {
		t.Helper()
		c.wall, c.mono = at(wall), c.mono+mono
		if h := s.header(); h.Now != now || h.LeaseNow != lease {
			t.Fatalf("wall %d: stamps %d, %d; want %d, %d", wall, h.Now, h.LeaseNow, now, lease)
		}
	}
	step(1_000_000, 0, 1_000_000, 7_000)                     // ahead of the log: the log's time follows the wall clock
	step(1_001_000, time.Second, 1_001_000, 8_000)           //
	step(4_601_000, time.Second, 4_601_000, 9_000)           // an hour forward: due times see it, leases do not
	step(1_002_000, time.Second, 4_602_000, 10_000)          // an hour back: the log's time goes on by the monotonic clock
	step(1_002_500, 500*time.Millisecond, 4_602_500, 10_500) //
	step(4_602_400, 100*time.Millisecond, 4_602_600, 10_600) // still behind, by a little
	step(4_700_000, time.Second, 4_700_000, 11_600)          // ahead again
	step(4_700_000, 400*time.Microsecond, 4_700_000, 11_600) // fractions of a millisecond are not lost
	step(4_600_000, 700*time.Microsecond, 4_700_000, 11_601)
	step(4_600_000, 700*time.Microsecond, 4_700_001, 11_601)

	behind := newStamper(&handClock{wall: at(5)}, 900_000, 0)
	if h := behind.header(); h.Now != 900_000 {
		t.Fatalf("now went back to %d with the new leader", h.Now)
	}
}

// TestOrigins: numbers rise, lowest is the lowest number that still waits, and a long silence brings a new identity.
func TestOrigins(t *testing.T) {
	c := &handClock{}
	o := newOrigins(c)
	cmds := []task.Command{task.Tick{}, task.Tick{}}
	a, b := o.begin(2), o.begin(1)
	ps := o.proposals(b, cmds[:1])
	if got := ps[0].Origin; got.Process == 0 || got.Seq != 3 || got.Lowest != 1 {
		t.Fatalf("%+v", got)
	}
	o.end(a)
	if got := o.proposals(b, cmds[:1])[0].Origin; got.Seq != 3 || got.Lowest != 3 {
		t.Fatalf("after an answer: %+v", got)
	}
	c.mono = 2 * idleProcess
	d := o.begin(2)
	if d.process != b.process {
		t.Fatal("new identity while an answer is awaited")
	}
	o.end(b)
	if got := o.proposals(d, cmds)[1].Origin; got.Seq != 5 || got.Lowest != 4 {
		t.Fatalf("%+v", got)
	}
	o.end(d)
	c.mono += idleProcess
	if e := o.begin(1); e.process != d.process {
		t.Fatal("new identity too early")
	} else {
		o.end(e)
	}
	c.mono += idleProcess + 1
	e := o.begin(1)
	if e.process == d.process || e.process.id == d.process.id || e.first != 1 {
		t.Fatalf("same identity after a long silence: %+v", e)
	}
	o.forgotten(d.process)
	if x := o.begin(1); x.process != e.process {
		t.Fatal("an old identity's end ended the new one")
	}
	o.forgotten(e.process)
	if x := o.begin(1); x.process == e.process {
		t.Fatal("a forgotten identity goes on")
	}
}

// TestForgottenOrigin: the machine has forgotten a process. The process starts with a new identity, and its caller does
// not notice.
func TestForgottenOrigin(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		s := c.start(c.add("n1", nil), 1)
		c.leader()
		c.activate(s)
		s.origins.cur = &process{id: 42, next: 100}
		if rs := c.propose(s, submit("abc", task.Fail), submit("def", task.Fail)); rs[1].Task.ID != "def" {
			t.Fatalf("%+v", rs)
		}
		if s.origins.cur.id == 42 {
			t.Fatal("identity not renewed")
		}
	})
}

// TestChunks: a call of any size is cut into pieces that fit into one entry.
func TestChunks(t *testing.T) {
	cmds := slices.Repeat([]task.Command{task.Tick{}}, 2500)
	if b, err := chunk(cmds); err != nil || b.Len() != maxCommands {
		t.Fatal(b.Len(), err)
	}
	large := task.Submit{Params: task.Payload{Data: make([]byte, 200<<10)}}
	if b, err := chunk([]task.Command{large, large, large}); err != nil || b.Len() != 2 {
		t.Fatal(b.Len(), err)
	}
	large.Params.Data = make([]byte, maxCommandBytes)
	if _, err := chunk([]task.Command{large}); !errors.Is(err, ErrTooLarge) {
		t.Fatal(err)
	}
	bubble(t, func(t *testing.T, c *cluster) {
		three(c, nil)
		f := c.followers(c.leader())[0]
		c.activate(f.store)
		var cmds []task.Command
		names := ids("task", 2500)
		for _, id := range names {
			cmds = append(cmds, submit(id, task.Fail))
		}
		for i, r := range c.propose(f.store, cmds...) {
			if r.Task.ID != names[i] {
				t.Fatalf("result %d is of %s", i, r.Task.ID)
			}
		}
	})
}

// TestLaggingSubscriber: a lagging subscriber is cut off and knows it. The other subscribers and Apply do not notice.
func TestLaggingSubscriber(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		s := c.start(c.add("n1", nil), 1)
		c.leader()
		c.activate(s)
		slow, quick, gone := s.Subscribe(2), s.Subscribe(100), s.Subscribe(1)
		gone.Close()
		gone.Close()
		for _, id := range ids("task", 5) {
			c.propose(s, submit(id, task.Fail))
		}
		n := 0
		for range slow.Events() {
			n++
		}
		if n != 2 || !slow.Lagged() {
			t.Fatalf("%d entries, lagged %v", n, slow.Lagged())
		}
		for i, id := range ids("task", 5) {
			evs := <-quick.Events()
			if len(evs) != 1 || evs[0].Kind != task.TaskChanged || evs[0].Task.ID != id {
				t.Fatalf("entry %d: %+v", i, evs)
			}
		}
		if _, open := <-gone.Events(); open || gone.Lagged() || quick.Lagged() {
			t.Fatal("the others were cut off too")
		}
		quick.Close()
	})
}

// TestLatestLeadershipWins: a reader that was away sees only the last news.
func TestLatestLeadershipWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Store{}
		c := s.Leadership()
		s.term = &termState{term: 3}
		s.announce(Leadership{true, 3})
		s.announce(Leadership{Term: 3})
		s.term = &termState{term: 5}
		s.announce(Leadership{true, 5})
		s.announce(Leadership{true, 4}) // this news comes late
		if l := <-c; l != (Leadership{true, 5}) {
			t.Fatalf("%+v", l)
		}
		if l := <-s.Leadership(); l != (Leadership{true, 5}) {
			t.Fatalf("a new reader sees %+v", l)
		}
	})
}

// TestConfig: a configuration that cannot work is refused.
func TestConfig(t *testing.T) {
	ok := Config{ID: "n1", Dir: "x", Addr: "10.0.0.1:7000", Net: memnetNode()}
	if _, err := ok.withDefaults(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Config){
		"no ID":             func(c *Config) { c.ID = "" },
		"ID with a slash":   func(c *Config) { c.ID = "a/b" },
		"no directory":      func(c *Config) { c.Dir = "" },
		"no address":        func(c *Config) { c.Addr = "" },
		"any address":       func(c *Config) { c.Addr = "0.0.0.0:7000" },
		"any v6 address":    func(c *Config) { c.Addr = "[::]:7000" },
		"port only":         func(c *Config) { c.Addr = ":7000" },
		"no network":        func(c *Config) { c.Net = nil },
		"negative expect":   func(c *Config) { c.BootstrapExpect = -1 },
		"quick heartbeats":  func(c *Config) { c.HeartbeatTimeout = 500 * time.Millisecond },
		"long lease":        func(c *Config) { c.LeaderLeaseTimeout = 2 * time.Second },
		"negative limit":    func(c *Config) { c.QueueBytes = -1 },
		"negative patience": func(c *Config) { c.DiskTimeout = -1 },
	} {
		c := ok
		change(&c)
		if _, err := c.withDefaults(); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// TestMisdirectedConnection: a node hangs up on a connection for another node or for a former instance of itself.
func TestMisdirectedConnection(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		s := c.start(c.add("n1", nil), 1)
		c.leader()
		for to, welcome := range map[string]bool{s.identity: true, "n1/0123456789abcdef": false, "n2/0123456789abcdef": false, "": false} {
			for _, p := range []mux.Protocol{mux.Raft, mux.Propose} {
				if p == mux.Propose && to == "" {
					continue // it is for any node
				}
				conn, err := c.net.Node("stranger:1").Dial(t.Context(), "n1:1", p)
				if err != nil {
					t.Fatal(err)
				}
				if p == mux.Raft {
					_, err = conn.Write(append([]byte{byte(len(to))}, to...))
				} else {
					greet, _ := cbor.Marshal(map[int]string{1: "n9/1", 2: to})
					frame := binary.BigEndian.AppendUint32(nil, uint32(8+1+len(greet)))
					frame = append(frame, make([]byte, 8+1)...) // request 0, of kind 0
					_, err = conn.Write(append(frame, greet...))
				}
				if err != nil {
					t.Fatal(err)
				}
				_ = conn.SetReadDeadline(time.Now().Add(2 * time.Second))
				_, err = conn.Read(make([]byte, 1))
				if timedOut := errors.Is(err, os.ErrDeadlineExceeded); timedOut != welcome {
					t.Errorf("protocol %d to %q: %v, welcome %v", p, to, err, welcome)
				}
				conn.Close()
			}
		}
	})
}
