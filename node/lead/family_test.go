package lead

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/raftstore"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker/stream"
)

// familyStore answers proposals by their kind, as the test tells it. It remembers them.
type familyStore struct {
	Store
	seen   []string
	answer func(kind string) (task.Result, error)
}

func (s *familyStore) ProposeLocal(_ context.Context, cmds ...task.Command) ([]task.Result, error) {
	kind := fmt.Sprintf("%T", cmds[0])
	switch c := cmds[0].(type) {
	case task.Txn:
		kind = fmt.Sprintf("txn of %d and %d, %t", len(c.Submits), len(c.Finishes), c.Finishes[0].InTxn)
	case task.Finish:
		kind = fmt.Sprintf("finish alone, %t", c.InTxn)
	}
	s.seen = append(s.seen, kind)
	r, err := s.answer(kind)
	if err != nil {
		return nil, err
	}
	return []task.Result{r}, nil
}

// TestFamilies: what the leader proposes for a success with children, and what it tells the worker (SPEC B6).
func TestFamilies(t *testing.T) {
	t.Parallel()
	const txn, alone = "txn of 2 and 1, true", "finish alone, true"
	conflict := task.Result{Code: task.Conflict, Message: "the run goes on"}
	for name, x := range map[string]struct {
		children error
		txn      []task.Result
		txnErr   error
		alone    task.Result
		aloneErr error
		want     stream.Ack
		seen     []string
	}{
		"both":    {txn: []task.Result{{}}, seen: []string{txn}},
		"halted":  {txn: []task.Result{conflict}, alone: task.Result{Code: task.Halt, Message: "late"}, want: stream.Ack{Code: task.Halt, Message: "late"}, seen: []string{txn, alone}},
		"decided": {txn: []task.Result{conflict}, alone: task.Result{Repeated: true}, want: stream.Ack{Repeated: true}, seen: []string{txn, alone}},
		"decided, and its children's behavior gone": {
			children: api.NewError(api.CodeBehaviorNotFound, "gone"), alone: task.Result{Repeated: true}, want: stream.Ack{Repeated: true}, seen: []string{alone},
		},
		"a child refused before":   {children: api.FieldError(api.CodeInvalidField, "id", "bad"), alone: conflict, want: stream.Ack{Code: stream.ChildRefused, Message: "invalid_field: id: bad"}, seen: []string{alone}},
		"a child refused by quota": {txn: []task.Result{{Code: task.QuotaExceeded, Field: "max_tasks", Message: "full"}}, alone: conflict, want: stream.Ack{Code: stream.ChildRefused, Message: "quota_exceeded: max_tasks: full"}, seen: []string{txn, alone}},
		"a child that exists": {
			txn: []task.Result{{Code: task.Conflict, Reasons: []task.Reason{{Kind: task.ReasonExists, ID: "kid"}}}}, alone: conflict,
			want: stream.Ack{Code: stream.ChildRefused, Message: "already_exists: id: there is a task kid, of another behavior or submitted with if_exists fail"}, seen: []string{txn, alone},
		},
		"a behavior that changed": {txn: []task.Result{{Code: task.BehaviorWasChanged}, {}}, alone: conflict, seen: []string{txn, alone, txn}},
		"the result's blob gone":  {txn: []task.Result{{Code: task.BlobGone, Field: "result", Message: "gone"}}, want: stream.Ack{Code: task.BlobGone, Message: "gone"}, seen: []string{txn}},
		"too large":               {txnErr: raftstore.ErrTooLarge, alone: conflict, want: stream.Ack{Code: stream.ChildRefused, Message: "invalid_field: the children are too large for one entry of the log"}, seen: []string{txn, alone}},
		"the leader falls":        {txnErr: raftstore.ErrNotLeader, aloneErr: raftstore.ErrNotLeader, want: stream.Ack{Retry: true}, seen: []string{txn, alone}},
		"no room for a blob":      {children: api.NewError(api.CodeOverloaded, "full"), alone: conflict, want: stream.Ack{Retry: true}, seen: []string{alone}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &familyStore{answer: nil}
			s.answer = func(kind string) (task.Result, error) {
				if kind == alone {
					return x.alone, x.aloneErr
				}
				if x.txnErr != nil {
					return task.Result{}, x.txnErr
				}
				r := x.txn[0]
				x.txn = x.txn[1:]
				return r, nil
			}
			tm := &term{hub: &Hub{cfg: Config{Store: s, Children: func(context.Context, *task.Finish, [][]byte) ([]task.Submit, error) {
				return make([]task.Submit, 2), x.children
			}}}, ctx: t.Context()}
			x.want.ID = 5
			got := newReportPump(tm, speaker{}, nil, nil).propose([]stream.Report{{ID: 5, Finish: &task.Finish{Token: 7}, Children: [][]byte{{}, {}}}})
			if len(got) != 1 || got[0] != x.want || !slices.Equal(s.seen, x.seen) {
				t.Errorf("told %+v, want %+v; proposed %q, want %q", got, x.want, s.seen, x.seen)
			}
		})
	}
	for name, r := range map[string]stream.Report{
		"no finish": {Beat: &task.Beat{}, Children: [][]byte{{}}},
		"a failure": {Finish: &task.Finish{Error: &task.Error{}}, Children: [][]byte{{}}},
		"too many":  {Finish: &task.Finish{}, Children: make([][]byte, abi.MaxChildren+1)},
		"too much":  {Finish: &task.Finish{}, Children: [][]byte{make([]byte, abi.MaxChildrenBytes+1)}},
	} {
		if got := newReportPump(&term{}, speaker{}, nil, nil).propose([]stream.Report{r}); got[0].Code != task.InvalidCommand || !strings.Contains(got[0].Message, "100") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func kin(token uint64) stream.Report {
	return stream.Report{Finish: &task.Finish{Token: token, Seq: 2}, Children: [][]byte{{}}}
}

func beat(token uint64) stream.Report {
	return stream.Report{Beat: &task.Beat{Token: token, Seq: 1}}
}

// familyPump returns a pump that proposes to p and takes all children for right.
func familyPump(t *testing.T, p *proposals) *reportPump {
	return newReportPump(&term{hub: &Hub{cfg: Config{Store: p, Children: func(context.Context, *task.Finish, [][]byte) ([]task.Submit, error) {
		return []task.Submit{{}}, nil
	}}}, ctx: t.Context()}, speaker{}, func(stream.Frame) {}, nil)
}

// names returns the kinds and tokens of proposals, one line for a batch.
func names(batches [][]task.Command) (list []string) {
	for _, batch := range batches {
		var names []string
		for _, c := range batch {
			switch c := c.(type) {
			case task.Txn:
				names = append(names, fmt.Sprint("Txn ", c.Finishes[0].Token))
			case task.Finish:
				names = append(names, fmt.Sprint("Finish ", c.Token))
			case task.Beat:
				names = append(names, fmt.Sprint("Beat ", c.Token))
			}
		}
		list = append(list, strings.Join(names, " "))
	}
	return list
}

// TestFamiliesBehindABusyToken: a report that waits for the answer to an earlier report of its token does not decide
// which reports go together.
func TestFamiliesBehindABusyToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &proposals{gate: make(chan error)}
		pump := familyPump(t, p)
		pump.add([]stream.Report{beat(1)})
		p.seen()
		pump.add([]stream.Report{kin(1), beat(2), kin(3), beat(4)})
		got := names(p.seen())
		slices.Sort(got)
		if want := []string{"Beat 1", "Beat 2 Beat 4", "Txn 3"}; !slices.Equal(got, want) {
			t.Errorf("proposed %q, want %q", got, want)
		}
		for range 3 {
			p.gate <- nil
		}
		if got := names(p.seen()); len(got) != 4 || got[3] != "Txn 1" {
			t.Errorf("then %q", got)
		}
		p.gate <- nil
		pump.wait()
	})
}

// TestFamiliesKeepTheOrder: a finish with children goes by itself, and after the beats of its token.
func TestFamiliesKeepTheOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &proposals{gate: make(chan error)}
		pump := familyPump(t, p)
		pump.add([]stream.Report{kin(1), beat(2), kin(2), kin(3), beat(4)})
		want := map[string]bool{"Txn 1": true, "Txn 3": true, "Beat 2 Beat 4": true}
		for _, name := range names(p.seen()) {
			if !want[name] {
				t.Errorf("proposed %s", name)
			}
			delete(want, name)
		}
		if len(want) > 0 {
			t.Errorf("not proposed: %v", want)
		}
		for range 3 {
			p.gate <- nil
		}
		if got := p.seen(); len(got) != 4 || got[3][0].(task.Txn).Finishes[0].Token != 2 {
			t.Errorf("then %v", got)
		}
		p.gate <- nil
		pump.wait()
	})
}
