package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/exit"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/show"
)

func (p *program) watchCommand() *cli.Command {
	const cmd = "watch"
	return &cli.Command{
		Name: cmd, Usage: "print every change: of the tasks named, until all are final, or of all tasks that fit", ArgsUsage: "[ID…]", Category: "tasks",
		Flags: clientFlags(
			stringFlag(cmd, "behavior", "", "of this behavior"),
			stringFlag(cmd, "status", "", "those after which the task is CREATED, RUNNING, SUCCESS or FAILURE"),
			stringFlag(cmd, "parent", "", "of this operation"),
		),
		Action: p.client(watch),
	}
}

// watch follows the events. No transition to a final state is missed (SPEC W3).
func watch(c *cli.Context, cl *client) error {
	w := watching{client: cl, ids: c.Args().Slice(), left: map[string]bool{}}
	r := api.EventsRequest{
		Namespace: cl.namespace, IDs: w.ids, Behavior: c.String("behavior"), Status: upper(c, "status"), Parent: c.String("parent"),
		HasAfter: len(w.ids) > 0, // begin with the present state; all of a cluster's tasks would be too much
	}
	if err := w.look(); err != nil {
		return err
	}
	events, err := cl.Events(cl.ctx, r)
	if err != nil {
		return err
	}
	defer events.Close()
	for {
		e, err := events.Next(cl.ctx)
		if err != nil {
			return err
		}
		if err := w.event(&e); err != nil {
			return err
		}
		if len(w.ids) > 0 && len(w.left) == 0 {
			return w.outcome()
		}
	}
}

// watching is what is known of the named tasks.
type watching struct {
	*client
	ids    []string
	left   map[string]bool // not final
	failed bool
	resets int
}

// look finds out whether all tasks exist: a task that does not exist sends no event.
func (w *watching) look() error {
	clear(w.left)
	if len(w.ids) == 0 {
		return nil
	}
	_, err := w.WaitTasks(w.ctx, api.WaitRequest{Namespace: w.namespace, IDs: w.ids, Timeout: new(api.Duration(0))})
	for _, id := range w.ids { // the state of a final task is printed, too
		w.left[id] = true
	}
	return err
}

func (w *watching) event(e *api.Event) error {
	switch e.Kind {
	case api.EventTask:
		var t api.TaskEvent
		if err := json.Unmarshal(e.Data, &t); err != nil {
			return fmt.Errorf("an event that cannot be read: %w", err)
		}
		w.changed(t.Task)
		line := fmt.Sprintf("rev %d  %s", t.Task.Rev, show.State(t.Task))
		if t.Task.Progress != nil {
			line += "  " + show.Clip(t.Task.Progress, 100)
		}
		return w.line(e, t.Task.ID, line)
	case api.EventProgress:
		var p struct {
			ID       string
			Progress json.RawMessage
		}
		if err := json.Unmarshal(e.Data, &p); err != nil {
			return fmt.Errorf("an event that cannot be read: %w", err)
		}
		return w.line(e, p.ID, "progress "+show.Clip(p.Progress, 100))
	case api.EventRemoved:
		var r api.RemovedEvent
		if err := json.Unmarshal(e.Data, &r); err != nil {
			return fmt.Errorf("an event that cannot be read: %w", err)
		}
		delete(w.left, r.ID)
		return w.line(e, r.ID, "removed")
	case api.EventReset:
		if w.resets++; w.resets == 1 && len(w.ids) > 0 {
			return nil // it was asked for
		}
		if err := w.stderr.Printf("taskrt: changes were missed; the present states follow\n"); err != nil {
			return err
		}
		return w.look()
	}
	return nil
}

func (w *watching) changed(t *api.Task) {
	switch {
	case !slices.Contains(w.ids, t.ID):
	case t.Final:
		delete(w.left, t.ID)
		w.failed = w.failed || t.Status == "FAILURE"
	default:
		w.left[t.ID] = true
	}
}

// line prints an event; for programs it prints the event's data as it came.
func (w *watching) line(e *api.Event, id, text string) error {
	if w.json {
		return w.answers.Write(append(bytes.TrimSpace(e.Data), '\n'))
	}
	if len(w.ids) != 1 {
		text = id + "  " + text
	}
	return w.stdout.Printf("%s  %s\n", api.Time{Time: time.Now()}, text)
}

// outcome is exit code 1, without a message, if a task failed.
func (w *watching) outcome() error {
	if w.failed {
		return exit.With(exit.TaskFailed, nil)
	}
	return nil
}
