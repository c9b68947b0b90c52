package follow

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/internal/terminal"
)

// pages answers one page after the other, and ends the watch behind the last one.
type pages struct {
	all  []any // *api.ListReply or error
	end  func()
	body []byte
}

func (p *pages) read() (*api.ListReply, error) {
	if len(p.all) == 0 {
		p.end()
		return nil, api.NewError(api.CodeNoLeader, "nobody leads")
	}
	next := p.all[0]
	p.all = p.all[1:]
	if err, is := next.(error); is {
		return nil, err
	}
	p.body, _ = json.Marshal(next) // it can be
	return next.(*api.ListReply), nil
}

// TestWatch: outside of a terminal each task that is new or has changed is printed once, through an election (SPEC U3).
func TestWatch(t *testing.T) { synctest.Test(t, watch) }

func watch(t *testing.T) {
	page := func(tasks ...*api.Task) *api.ListReply { return &api.ListReply{Tasks: tasks, Cursor: "more"} }
	one, two, later := &api.Task{ID: "one", Rev: 1, Status: "CREATED"}, &api.Task{ID: "two", Rev: 2, Status: "CREATED"}, &api.Task{ID: "one", Rev: 3, Status: "SUCCESS"}
	all := []any{page(), page(one), page(one), api.NewError(api.CodeNoLeader, "nobody leads"), page(two, one), page(two, later), page(two)}
	for _, program := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		p := &pages{all: all, end: cancel}
		var out bytes.Buffer
		l := List{Read: p.read, Answer: func() []byte { return p.body }, Out: terminal.New(&out), Columns: terminal.Columns{Names: []string{"id", "status"}}}
		want := "ID  STATUS\none  CREATED\ntwo  CREATED\none  SUCCESS\n"
		if program {
			l.Write = func(b []byte) error { _, err := out.Write(b); return err }
			want = ""
			for _, x := range []*api.Task{one, two, later} {
				line, _ := json.Marshal(x)
				want += string(line) + "\n"
			}
		}
		if err := l.Watch(ctx); !errors.Is(err, context.Canceled) || out.String() != want {
			t.Errorf("program %t: %v\n%s\nwant\n%s", program, err, out.String(), want)
		}
	}
	refused := api.FieldError(api.CodeInvalidField, "label", "no")
	l := List{Read: (&pages{all: []any{refused}}).read, Out: terminal.New(&strings.Builder{})}
	if err := l.Watch(t.Context()); !errors.Is(err, refused) {
		t.Error(err)
	}
}
