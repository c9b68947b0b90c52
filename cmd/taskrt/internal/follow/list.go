package follow

import (
	"context"
	"encoding/json"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/show"
	"github.com/taskrt/taskrt/internal/idle"
	"github.com/taskrt/taskrt/internal/terminal"
)

// Every is how often a list is read again.
const Every = 2 * time.Second

// Repeat does something again and again, until ctx ends. It goes on while nobody leads.
func Repeat(ctx context.Context, every time.Duration, do func() error) error {
	for {
		if err := do(); err != nil && !client.Passes(err) {
			return err
		}
		if !idle.For(ctx, every) {
			return ctx.Err()
		}
	}
}

// List is a page of tasks that is read again and again. So all filters hold, and a task that fits no more is simply gone.
type List struct {
	Read    func() (*api.ListReply, error)
	Answer  func() []byte // the answer that was read last, as it came
	Out     *terminal.Output
	Columns terminal.Columns
	Write   func(answer []byte) error // to a program; nil: people read it

	seen map[string]uint64 // revs of the tasks of the last page
	head bool              // the first line was printed
}

// Watch shows the page until ctx ends: on a terminal all of it each time, elsewhere the tasks that are new or have changed.
func (l *List) Watch(ctx context.Context) error {
	if l.Write == nil && l.Out.Draws() {
		screen := l.Out.Screen()
		defer screen.Close()
		return Repeat(ctx, Every, func() error {
			reply, err := l.Read()
			if err != nil {
				return err
			}
			return screen.Show(l.Columns, func(w *terminal.Table) { show.Tasks(w, reply.Tasks, true) })
		})
	}
	return Repeat(ctx, Every, func() error {
		reply, err := l.Read()
		if err != nil {
			return err
		}
		return l.changes(reply)
	})
}

// changes prints the tasks that are new or have changed.
func (l *List) changes(reply *api.ListReply) error {
	var raw struct{ Tasks []json.RawMessage }
	if l.Write != nil {
		if err := json.Unmarshal(l.Answer(), &raw); err != nil {
			return err
		}
	}
	now, changed := map[string]uint64{}, []*api.Task{}
	for i, t := range reply.Tasks {
		now[t.ID] = t.Rev
		if rev, known := l.seen[t.ID]; known && rev == t.Rev {
			continue
		}
		changed = append(changed, t)
		if l.Write != nil {
			if err := l.Write(append(raw.Tasks[i], '\n')); err != nil {
				return err
			}
		}
	}
	l.seen = now
	if l.Write != nil || len(changed) == 0 && l.head {
		return nil
	}
	first := !l.head
	l.head = true
	return l.Out.TableOf(l.Columns, func(w *terminal.Table) { show.Tasks(w, changed, first) })
}
