package follow

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/internal/terminal"
)

// moment is what a cluster answers at one look.
type moment struct {
	task *api.Task
	logs []api.AttemptLog // all of them
	err  error            // of the look at the task
	away error            // of the logs
}

// cluster answers one moment after the other.
type cluster struct {
	t       *testing.T
	former  bool
	moments []moment
	looks   []string
	asked   int
}

func (c *cluster) Task(_ context.Context, _, _ string, o api.GetOptions) (*api.Task, error) {
	c.looks = append(c.looks, o.Until)
	if c.asked++; c.asked > len(c.moments) {
		c.t.Fatal("a look too many")
	}
	m := c.moments[c.asked-1]
	return m.task, m.err
}

func (c *cluster) Logs(_ context.Context, _, _ string, g api.LogsGet) (*api.LogsReply, error) {
	m := c.moments[c.asked-1]
	if m.away != nil {
		return nil, m.away
	}
	if c.former && g.FromToken > 0 {
		return nil, api.FieldError(api.CodeUnknownField, "from_token", "there is no such query parameter")
	}
	var some []api.AttemptLog
	for _, a := range m.logs {
		if c.former {
			some = append(some, a)
			continue
		}
		a.End = int64(len(a.Text))
		if a.Token == g.FromToken {
			a.Text = a.Text[g.FromOffset:]
		}
		if a.Token >= g.FromToken {
			some = append(some, a)
		}
	}
	return &api.LogsReply{Attempts: some}, nil
}

// TestFollow: each line is printed once, through a retry, an election and a node that is away, and until the task is final; from a server of 0.1.0,
// too (SPEC U3).
func TestFollow(t *testing.T) { synctest.Test(t, follow) }

func follow(t *testing.T) {
	running := func(attempt int64) *api.Task { return &api.Task{Attempt: attempt, Lease: &api.Lease{}} }
	log := func(text string) api.AttemptLog { return api.AttemptLog{Attempt: 1, Token: 5, Text: text} }
	next := func(text string) api.AttemptLog { return api.AttemptLog{Attempt: 2, Token: 8, Text: text} }
	gone := api.NewError(api.CodeNoLeader, "nobody leads")
	for _, former := range []bool{false, true} {
		c := &cluster{t: t, former: former, moments: []moment{
			{task: &api.Task{Rev: 3}},
			{task: running(1), logs: []api.AttemptLog{log("a\n")}},
			{task: running(1), logs: []api.AttemptLog{log("a\n")}},
			{err: gone},
			{task: running(1), logs: []api.AttemptLog{log("a\nb\n")}},
			{task: running(1), away: gone},
			{task: &api.Task{Rev: 9, Attempt: 1}, logs: []api.AttemptLog{log("a\nb\nc\n")}},
			{task: running(2), logs: []api.AttemptLog{log("a\nb\nc\n"), next("d\n")}},
			{task: &api.Task{Final: true}, logs: []api.AttemptLog{log("a\nb\nc\n"), next("d\ne\n")}},
		}}
		var got strings.Builder
		l := Log{Of: c, ID: "x"}
		err := l.Follow(t.Context(), func(a api.AttemptLog) error {
			fmt.Fprintf(&got, "%d:%s", a.Attempt, a.Text)
			return nil
		})
		const want = "1:a\n1:b\n1:c\n2:d\n2:e\n"
		if err != nil || got.String() != want || l.former != former {
			t.Errorf("former %t: %v, %q; want %q", former, err, got.String(), want)
		}
		if looks := strings.Join(c.looks, " "); looks != "rev:1 rev:4 attempt:1 attempt:1 attempt:1 attempt:1 attempt:1 rev:10 attempt:2" {
			t.Errorf("looked %s", looks)
		}
	}
}

// TestFollowEnds: it ends with the context, with the task, and with whoever reads.
func TestFollowEnds(t *testing.T) { synctest.Test(t, followEnds) }

func followEnds(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	c := &cluster{t: t, moments: []moment{{err: api.NewError(api.CodeNoLeader, "nobody leads")}}}
	if err := (&Log{Of: c}).Follow(ended, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	c = &cluster{t: t, moments: []moment{{err: api.NewError(api.CodeRemoved, "removed")}}}
	if err := (&Log{Of: c}).Follow(t.Context(), nil); api.CodeOf(err) != api.CodeRemoved {
		t.Error(err)
	}
	closed := errors.New("closed pipe")
	c = &cluster{t: t, moments: []moment{{task: &api.Task{Lease: &api.Lease{}}, logs: []api.AttemptLog{{Token: 1, Text: "x"}}}}}
	if err := (&Log{Of: c}).Follow(t.Context(), func(api.AttemptLog) error { return closed }); !errors.Is(err, closed) {
		t.Error(err)
	}
}

// TestPrint: the pieces of a line are one line, and each attempt begins behind a line that names it.
func TestPrint(t *testing.T) {
	var out bytes.Buffer
	p := Print{Out: terminal.New(&out)}
	for _, a := range []api.AttemptLog{{Attempt: 1, Token: 5, Text: "one, "}, {Attempt: 1, Token: 5, Text: "two"}, {Attempt: 2, Token: 8}, {Attempt: 3, Token: 9, Text: "three\n"}} {
		if err := p.Piece(a); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.All([]api.AttemptLog{{Attempt: 4, Token: 11, Text: "four"}}); err != nil {
		t.Fatal(err)
	}
	if want := "--- attempt 1\none, two\n--- attempt 2\n--- attempt 3\nthree\n--- attempt 4\nfour\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
