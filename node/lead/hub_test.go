package lead

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskrt/taskrt/raftstore"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker/stream"
)

// proposals is a store that keeps proposals until the test lets them be applied.
type proposals struct {
	mu      sync.Mutex
	batches [][]task.Command
	gate    chan error // one value per proposal
}

func (p *proposals) Accompany(raftstore.Companion) {}

func (p *proposals) ProposeLocal(ctx context.Context, cmds ...task.Command) ([]task.Result, error) {
	p.mu.Lock()
	p.batches = append(p.batches, cmds)
	p.mu.Unlock()
	select {
	case err := <-p.gate:
		return make([]task.Result, len(cmds)), err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *proposals) Local(func(*task.Machine))                         {}
func (p *proposals) Leader() (id, addr string)                         { return "", "" }
func (p *proposals) Stamps() (now task.Time, l task.LeaseTime, b bool) { return 0, 0, false }

func (p *proposals) seen() [][]task.Command {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.batches)
}

func TestTickGoesBehindAllReceivedRenewals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &proposals{gate: make(chan error)}
		q := newSessionQueue(p.ProposeLocal)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var wg sync.WaitGroup
		defer wg.Wait()
		defer cancel()
		wg.Go(func() { q.run(ctx) })
		renew := func(s uint64) { q.add(task.RenewSession{Session: s}, func(task.Result, error) {}) }
		renew(1)
		p.seen() // the first renewal is under way
		ticked := make(chan error, 1)
		q.addTick(func(_ task.Result, err error) { ticked <- err })
		renew(2) // it arrives after the request for the Tick and before the proposal of the Tick (SPEC L4)
		p.gate <- nil
		want := []task.Command{task.RenewSession{Session: 2}, task.Tick{}}
		if got := p.seen(); len(got) != 2 || !slices.Equal(got[1], want) {
			t.Fatalf("proposed %v, want %v second", got, want)
		}
		p.gate <- raftstore.ErrOverloaded // nothing is dropped; the batch is proposed again
		time.Sleep(overloadPause)
		if got := p.seen(); len(got) != 3 || !slices.Equal(got[2], want) {
			t.Fatalf("proposed %v", got)
		}
		p.gate <- nil
		if err := <-ticked; err != nil {
			t.Error(err)
		}
	})
}

func TestReportsOfOneTokenKeepTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &proposals{gate: make(chan error)}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		tm := &term{hub: &Hub{cfg: Config{Store: p}}, ctx: ctx}
		var mu sync.Mutex
		acks := map[uint64]stream.Ack{}
		pump := newReportPump(tm, speaker{}, func(f stream.Frame) {
			mu.Lock()
			defer mu.Unlock()
			for _, a := range f.Acks {
				acks[a.ID] = a
			}
		}, nil)
		beat := func(id, token, seq uint64) stream.Report {
			return stream.Report{ID: id, Beat: &task.Beat{Token: token, Seq: seq}}
		}
		pump.add([]stream.Report{beat(1, 7, 1)})
		p.seen()
		pump.add([]stream.Report{beat(2, 7, 2), beat(3, 8, 1), {ID: 4, Finish: &task.Finish{Token: 7, Seq: 3}}})
		got := p.seen()
		if len(got) != 2 || len(got[1]) != 1 || got[1][0].(task.Beat).Token != 8 {
			t.Fatalf("another token must not wait, the same one must: %v", got)
		}
		p.gate <- nil
		p.gate <- nil
		got = p.seen()
		if len(got) != 3 || len(got[2]) != 2 || got[2][0].(task.Beat).Seq != 2 || got[2][1].(task.Finish).Seq != 3 {
			t.Fatalf("proposed %v", got)
		}
		pump.add([]stream.Report{{ID: 5}})
		p.gate <- raftstore.ErrNotLeader
		pump.wait()
		mu.Lock()
		defer mu.Unlock()
		if len(acks) != 5 || !acks[2].Retry || !acks[4].Retry || acks[1].Retry || acks[5].Code != task.InvalidCommand {
			t.Errorf("acks %+v", acks)
		}
	})
}

func TestFloodOfRenewalsEndsTheStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &proposals{gate: make(chan error)} // it answers nothing
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		near, far := net.Pipe()
		conn, err := stream.New(near, stream.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		worker, err := stream.New(far, stream.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer worker.Close()
		tm := &term{hub: &Hub{cfg: Config{Store: p}}, ctx: ctx, sessions: newSessionQueue(p.ProposeLocal)}
		w := &workerStream{term: tm, conn: conn, session: 1}
		ended := make(chan error, 1)
		go func() { ended <- w.read() }()
		for n := range uint64(maxRenewals) {
			_ = worker.Send(stream.Frame{Renew: &stream.Renew{N: n}})
		}
		synctest.Wait()
		select {
		case err := <-ended:
			t.Fatalf("ended early: %v", err)
		default:
		}
		_ = worker.Send(stream.Frame{Renew: &stream.Renew{}})
		if err := <-ended; !errors.Is(err, errTooManyReports) {
			t.Errorf("got %v", err)
		}
	})
}

// TestUnsoundPayloadsAreRefused: a worker calls a payload JSON, and it is not. Every answer of the API that shows the
// payload would be broken.
func TestUnsoundPayloadsAreRefused(t *testing.T) {
	bad := task.Payload{Encoding: task.JSON, Data: []byte("{")}
	good := task.Payload{Encoding: task.JSON, Data: []byte("{}")}
	for i, r := range []stream.Report{
		{Finish: &task.Finish{Result: bad}},
		{Finish: &task.Finish{Error: &task.Error{Details: bad}}},
		{Beat: &task.Beat{Progress: &bad, Checkpoint: &good}},
		{Beat: &task.Beat{Progress: &good, Checkpoint: &bad}},
		{Snooze: &task.Snooze{Checkpoint: &task.Payload{Encoding: 9}}},
		{Finish: &task.Finish{Result: task.Payload{Data: []byte("1")}}},
		{Finish: &task.Finish{Result: task.Payload{Encoding: task.JSON, Data: []byte("\"\xff\"")}}},
	} {
		p := &proposals{gate: make(chan error)}
		pump := newReportPump(&term{hub: &Hub{cfg: Config{Store: p}}, ctx: t.Context()}, speaker{}, func(stream.Frame) {}, nil)
		if acks := pump.propose([]stream.Report{r}); acks[0].Code != task.InvalidCommand || len(p.batches) > 0 {
			t.Errorf("%d: %+v", i, acks)
		}
	}
	if !sound(stream.Report{Beat: &task.Beat{Progress: &good, Checkpoint: &task.Payload{Encoding: task.Bytes}}}) {
		t.Error("refused what is sound")
	}
}

func TestLateReportsAreAllAnsweredWhenTheTermEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &proposals{gate: make(chan error)}
		ctx, cancel := context.WithCancel(t.Context())
		tm := &term{hub: &Hub{cfg: Config{Store: p}}, ctx: ctx}
		retries := 0
		var mu sync.Mutex
		pump := newReportPump(tm, speaker{}, func(f stream.Frame) {
			mu.Lock()
			defer mu.Unlock()
			for _, a := range f.Acks {
				if a.Retry {
					retries++
				}
			}
		}, nil)
		for i := range uint64(10) {
			pump.add([]stream.Report{{ID: i, Beat: &task.Beat{Token: i % 2, Seq: i}}})
		}
		cancel()
		pump.wait()
		mu.Lock()
		defer mu.Unlock()
		if retries != 10 {
			t.Errorf("%d retries", retries)
		}
	})
}
