package apitest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
)

// waitTasks waits for any or all of many tasks (SPEC W2).
func (s *suite) waitTasks(ctx context.Context, t *testing.T) {
	hour, soon := api.Duration(time.Hour), api.Duration(20*time.Millisecond)
	ids := []string{"many-late", "many-ok", "many-fail"}
	s.must(ctx, t, api.SubmitRequest{Behavior: okBehavior, ID: ids[0], Delay: &hour})
	s.must(ctx, t, api.SubmitRequest{Behavior: okBehavior, ID: ids[1]})
	s.must(ctx, t, api.SubmitRequest{Behavior: okBehavior, ID: ids[2]})
	wait := func(r api.WaitRequest) *api.WaitReply {
		t.Helper()
		r.IDs = ids
		reply, err := s.WaitTasks(ctx, r)
		if err != nil {
			t.Fatalf("%+v: %v", r, err)
		}
		for i, x := range reply.Tasks {
			if x != nil && x.ID != ids[i] {
				t.Fatalf("%+v: task %d is %s, want %s", r, i, x.ID, ids[i])
			}
		}
		if len(reply.Tasks) != len(ids) {
			t.Fatalf("%+v: %d tasks", r, len(reply.Tasks))
		}
		return reply
	}
	if got := wait(api.WaitRequest{Mode: "any"}); got.TimedOut || !slices.ContainsFunc(got.Tasks, func(x *api.Task) bool { return x.Final }) {
		t.Errorf("any: %+v", got)
	}
	if got := wait(api.WaitRequest{Mode: "all", Timeout: &soon}); !got.TimedOut || got.Tasks[0].Final {
		t.Errorf("all, one of which is late: %+v", got)
	}
	if got := wait(api.WaitRequest{Until: "waiting"}); got.TimedOut {
		t.Errorf("all until waiting: %+v", got)
	}
	// A removal ends the wait for the removed task.
	type answer struct {
		reply *api.WaitReply
		err   error
	}
	answers := make(chan answer, 1)
	go func() {
		reply, err := s.WaitTasks(ctx, api.WaitRequest{IDs: ids})
		answers <- answer{reply, err}
	}()
	time.AfterFunc(50*time.Millisecond, func() { _ = s.Remove(ctx, "", ids[0]) })
	a := <-answers
	if api.CodeOf(a.err) == api.CodeTaskNotFound {
		return // the machine was so slow that the removal came first
	}
	if a.err != nil || a.reply.TimedOut || a.reply.Tasks[0] != nil || !a.reply.Tasks[1].Final || !a.reply.Tasks[2].Final {
		t.Errorf("after a removal: %+v, %v", a.reply, a.err)
	}
}

func (s *suite) waitTasksRefused(ctx context.Context, t *testing.T) {
	long := api.Duration(api.MaxWait*time.Second + 1)
	many := make([]string, api.MaxWaitIDs+1)
	for i := range many {
		many[i] = fmt.Sprintf("many-%04d", i)
	}
	for name, c := range map[string]struct {
		r           api.WaitRequest
		code, field string
	}{
		"no ids":      {api.WaitRequest{}, "invalid_field", "ids"},
		"bad id":      {api.WaitRequest{IDs: []string{"many-x", "a b"}}, "invalid_field", "ids[1]"},
		"twice":       {api.WaitRequest{IDs: []string{"many-x", "many-y", "many-x"}}, "invalid_field", "ids[2]"},
		"too many":    {api.WaitRequest{IDs: many}, "too_large", "ids"},
		"bad mode":    {api.WaitRequest{IDs: many[:1], Mode: "some"}, "invalid_field", "mode"},
		"bad until":   {api.WaitRequest{IDs: many[:1], Until: "done"}, "invalid_field", "until"},
		"too long":    {api.WaitRequest{IDs: many[:1], Timeout: &long}, "invalid_field", "timeout"},
		"unknown":     {api.WaitRequest{IDs: []string{"many-nobody"}}, "task_not_found", ""},
		"no such ns":  {api.WaitRequest{Namespace: "nowhere", IDs: many[:1]}, "namespace_not_found", "namespace"},
		"bad ns":      {api.WaitRequest{Namespace: "a b", IDs: many[:1]}, "invalid_field", "namespace"},
		"all unknown": {api.WaitRequest{IDs: many[:api.MaxWaitIDs]}, "task_not_found", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.WaitTasks(ctx, c.r)
			wantError(t, err, c.code, c.field)
			if c.code == "task_not_found" && !strings.Contains(err.Error(), c.r.IDs[0]) {
				t.Errorf("%v does not name %s", err, c.r.IDs[0])
			}
		})
	}
}

// told is an event in the form in which the suite compares it.
type told struct {
	api.Event
	task *api.Task // of a task event
	id   string    // of a removed event
}

func (x told) String() string {
	switch {
	case x.task != nil:
		return x.Kind + " " + x.task.ID + " " + x.task.Status
	case x.id != "":
		return x.Kind + " " + x.id
	}
	return x.Kind
}

// follow subscribes to events. next returns the next event that is not progress.
func (s *suite) follow(ctx context.Context, t *testing.T, r api.EventsRequest) (next func() told) {
	t.Helper()
	stream, err := s.Events(ctx, r)
	if err != nil {
		t.Fatalf("events %+v: %v", r, err)
	}
	t.Cleanup(stream.Close)
	last := r.After
	return func() told {
		t.Helper()
		for {
			e, err := stream.Next(ctx)
			if err != nil {
				t.Fatalf("events %+v: %v", r, err)
			}
			x := told{Event: e}
			switch e.Kind {
			case api.EventProgress:
				continue
			case api.EventTask:
				var d api.TaskEvent
				err = json.Unmarshal(e.Data, &d)
				x.task = d.Task
			case api.EventRemoved:
				var d api.RemovedEvent
				if err = json.Unmarshal(e.Data, &d); d.Rev != e.Rev {
					t.Errorf("%s with ID %d", e.Data, e.Rev)
				}
				x.id = d.ID
			case api.EventReset:
				last = 0
			default:
				t.Errorf("an event of kind %q", e.Kind)
			}
			if err != nil {
				t.Fatalf("%s: %v", e.Data, err)
			}
			if e.Rev > 0 {
				if e.Rev <= last || stream.Position() != e.Rev {
					t.Errorf("%s: rev %d after %d, position %d", x, e.Rev, last, stream.Position())
				}
				last = e.Rev
			}
			return x
		}
	}
}

// events follows changes by streams of events (SPEC W3).
func (s *suite) events(ctx context.Context, t *testing.T) {
	all := s.follow(ctx, t, api.EventsRequest{})
	mine := s.follow(ctx, t, api.EventsRequest{IDs: []string{"events-one", "events-two"}})
	ended := s.follow(ctx, t, api.EventsRequest{Behavior: okBehavior, Status: "SUCCESS"})
	s.must(ctx, t, api.SubmitRequest{Behavior: okBehavior, ID: "events-other"})
	s.final(ctx, t, "events-other")
	s.must(ctx, t, api.SubmitRequest{Behavior: okBehavior, ID: "events-one"})
	done := s.final(ctx, t, "events-one")
	if err := s.Remove(ctx, "", "events-one"); err != nil {
		t.Fatal(err)
	}
	var history []told
	for _, want := range []string{"task events-one CREATED", "task events-one RUNNING", "task events-one SUCCESS", "removed events-one"} {
		got := mine()
		if got.String() != want {
			t.Fatalf("%s, want %s", got, want)
		}
		history = append(history, got)
	}
	if got := history[2].task; got.Rev != done.Rev || !got.Final || string(got.Result) != string(done.Result) || history[2].Rev != done.Rev {
		t.Errorf("%s with ID %d, want %+v", history[2].Data, history[2].Rev, done)
	}
	for _, want := range []string{"task events-other SUCCESS", "task events-one SUCCESS"} {
		if got := ended(); got.String() != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	seen := 0
	for got := all(); got.id != "events-one"; got = all() {
		if got.task != nil && strings.HasPrefix(got.task.ID, "events-") {
			seen++
		}
	}
	if seen != 6 {
		t.Errorf("%d events of two tasks", seen)
	}
	// A stream that begins after any rev has the events that came after it.
	for i, from := range history {
		again := s.follow(ctx, t, api.EventsRequest{IDs: []string{"events-one"}, HasAfter: true, After: from.Rev})
		for _, want := range history[i+1:] {
			if got := again(); got.String() != want.String() || got.Rev != want.Rev {
				t.Errorf("after %d: %s with ID %d, want %s with %d", from.Rev, got, got.Rev, want, want.Rev)
			}
		}
	}
}

func (s *suite) eventsReset(ctx context.Context, t *testing.T) {
	hour := api.Duration(time.Hour)
	for _, id := range []string{"reset-one", "reset-two"} {
		s.must(ctx, t, api.SubmitRequest{Behavior: okBehavior, ID: id, Delay: &hour})
	}
	two := "CREATED"
	for _, after := range []uint64{0, 1 << 60} {
		next := s.follow(ctx, t, api.EventsRequest{IDs: []string{"reset-two", "reset-one", "reset-nobody"}, HasAfter: true, After: after})
		if got := next(); got.String() != "reset" || got.Rev != 0 {
			t.Fatalf("first %s with ID %d", got, got.Rev)
		}
		states := []told{next(), next()}
		names := []string{states[0].String(), states[1].String()}
		slices.Sort(names)
		if !slices.Equal(names, []string{"task reset-one CREATED", "task reset-two " + two}) || states[0].Rev != 0 || states[1].Rev == 0 {
			t.Fatalf("states %v, IDs %d, %d", states, states[0].Rev, states[1].Rev)
		}
		if two != "CREATED" {
			continue
		}
		if _, err := s.Cancel(ctx, "", "reset-two"); err != nil {
			t.Fatal(err)
		}
		two = "FAILURE"
		if got := next(); got.String() != "task reset-two FAILURE" {
			t.Errorf("then %s", got)
		}
	}
	none := s.follow(ctx, t, api.EventsRequest{IDs: []string{"reset-nobody"}, HasAfter: true})
	if got := none(); got.String() != "reset" || got.Rev == 0 {
		t.Errorf("without a state: %s with ID %d", got, got.Rev)
	}
}

func (s *suite) eventsRefused(ctx context.Context, t *testing.T) {
	for field, r := range map[string]api.EventsRequest{
		"status":    {Status: "DONE"},
		"behavior":  {Behavior: "A B"},
		"parent":    {Parent: "a b"},
		"id[1]":     {IDs: []string{"events-one", "a b"}},
		"namespace": {Namespace: "a b"},
	} {
		_, err := s.Events(ctx, r)
		wantError(t, err, "invalid_field", field)
	}
	_, err := s.Events(ctx, api.EventsRequest{Namespace: "nowhere"})
	wantError(t, err, "namespace_not_found", "namespace")
	stream, err := s.Events(ctx, api.EventsRequest{IDs: []string{"events-nobody"}})
	if err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if _, err := stream.Next(gone); err == nil {
		t.Error("an event that nobody made")
	}
	stream.Close()
	stream.Close()
}
