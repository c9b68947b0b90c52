package task_test

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/taskrt/taskrt/task"
)

// fields prints name=value for what is not zero.
type fields struct{ b strings.Builder }

func (f *fields) add(name string, value any) {
	v := reflect.ValueOf(value)
	if v.IsZero() {
		return
	}
	if f.b.Len() > 0 {
		f.b.WriteByte(' ')
	}
	if p, ok := value.(task.Payload); ok {
		value = formatPayload(p)
	}
	fmt.Fprintf(&f.b, "%s=%v", name, value)
}

func formatTask(t *task.Task) string {
	var f fields
	f.add("v", t.Version)
	f.add("params", t.Params)
	f.add("result", t.Result)
	if t.Error != nil {
		f.add("error", t.Error.Code)
	}
	f.add("progress", t.Progress)
	f.add("checkpoint", t.Checkpoint)
	f.add("not_before", t.NotBefore)
	f.add("due_since", t.DueSince)
	f.add("suspect", t.Suspect)
	f.add("excess", t.Excess)
	f.add("creator", t.Creator)
	f.add("trace", t.Trace)
	f.add("deadline", t.Deadline)
	f.add("attempt", t.Attempt)
	f.add("failures", t.Failures)
	f.add("lost", t.LostCount)
	if l := t.Lease; l != nil && l.External() {
		var g fields
		g.add("token", l.Token)
		g.add("worker", l.Worker)
		g.add("report", l.Report)
		g.add("given", l.Given)
		g.add("ttl", l.TTL)
		g.add("expires", l.Expires)
		g.add("request", l.Request)
		g.add("grace", l.GraceEnd)
		f.add("lease", "{"+g.b.String()+"}")
	} else if l != nil {
		f.add("lease", fmt.Sprintf("{token=%d session=%d seq=%d worker=%s report=%d}", l.Token, l.Session, l.Seq, l.Worker, l.Report))
	}
	if e := t.Ended; e != nil {
		f.add("ended", fmt.Sprintf("{token=%d finish=%t}", e.Token, e.Finish != 0))
	}
	f.add("resubmit", t.Resubmit)
	f.add("cancel", t.CancelCode)
	f.add("started", t.StartedAt)
	f.add("finished", t.FinishedAt)
	for _, a := range t.History {
		ended := fmt.Sprintf("%s@%d", a.Outcome, a.FinishedAt)
		if a.Fuel != 0 {
			ended += fmt.Sprintf("(fuel %d)", a.Fuel)
		}
		if a.Pages != 0 {
			ended += fmt.Sprintf("(pages %d)", a.Pages)
		}
		f.add(fmt.Sprintf("#%d", a.Number), ended)
	}
	for _, l := range t.Labels {
		f.add(l.Name, l.Value)
	}
	f.add("ckey", t.ConcurrencyKey)
	f.add("bound", t.Bound)
	if t.Priority != 4 {
		f.add("priority", t.Priority)
	}
	final := ""
	if t.Final() {
		final = " final"
	}
	return fmt.Sprintf("%s: %s%s rev=%d created=%d/%d %s", t.ID, t.Status, final, t.Rev, t.CreatedRev, t.CreatedAt, f.b.String())
}

func formatSession(s *task.Session) string {
	return fmt.Sprintf("session %d of %s slots=%d expires=%d seq=%d acked=%d", s.ID, s.Worker, s.Slots, s.Expires, s.Seq, s.Acked)
}

func formatResult(r task.Result) string {
	var f fields
	f.add("field", r.Field)
	f.add("outcome", r.Outcome.String())
	f.add("told", r.Told)
	f.add("repeated", r.Repeated)
	f.add("changed", r.Changed)
	if r.Task != nil {
		f.add("task", fmt.Sprintf("%s/%d", r.Task.ID, r.Task.Rev))
	}
	if r.Session != nil {
		f.add("session", fmt.Sprint(r.Session.ID))
	}
	f.addRecords(r)
	f.addMore(r)
	if r.Behavior != nil {
		f.add("behavior", fmt.Sprintf("%s@%s/%d", r.Behavior.Name, r.Behavior.Active, r.Behavior.Rev))
	}
	for _, t := range r.Tasks {
		f.add("made", fmt.Sprintf("%s/%d", t.ID, t.Rev))
	}
	for _, x := range r.Reasons {
		f.add(x.Kind, x.ID)
	}
	f.add("index", r.Index)
	code := string(r.Code)
	if code == "" {
		code = "ok"
	}
	return code + " " + f.b.String()
}

var eventNames = map[task.EventKind]string{
	task.TaskChanged: "changed", task.TaskRemoved: "removed", task.TaskAssigned: "assigned",
	task.TaskCancelling: "cancelling", task.LeaseEnded: "lease ended", task.SessionOpened: "opened",
	task.SessionEnded: "session ended", task.BehaviorChanged: "behavior",
	task.DrainChanged: "drain", task.OperationChanged: "operation", task.OperationRemoved: "operation removed",
	task.NamespaceChanged: "namespace", task.BlobNoted: "blob", task.BlobsDropped: "blobs dropped",
	task.AccessChanged: "access", task.AccessRemoved: "access removed", task.AuditNoted: "audit", task.JobChanged: "job",
}

func formatEvent(e task.Event) string {
	var f fields
	if e.Task != nil {
		f.add("task", fmt.Sprintf("%s/%d", e.Task.ID, e.Task.Rev))
	}
	if e.Lease != nil {
		f.add("token", e.Lease.Token)
	}
	if e.Session != nil {
		f.add("session", e.Session.ID)
	}
	if e.Behavior != nil {
		f.add("behavior", e.Behavior.Name+"@"+e.Behavior.Active+formatFlags(e.Behavior))
	}
	f.addEvent(e)
	return "event " + eventNames[e.Kind] + " " + f.b.String()
}

// formatFlags prints what is not usual about a behavior.
func formatFlags(b *task.Behavior) string {
	flags := ""
	for _, f := range []struct {
		name string
		set  bool
	}{{"external", b.External}, {"paused", b.Paused}, {"deleted", b.Deleted}, {"purge", b.Purge}} {
		if f.set {
			flags += " " + f.name
		}
	}
	return flags
}

// copyRecord returns a record that shares no memory with r, as if it had been encoded and decoded.
func copyRecord(r task.Record) task.Record {
	return deepCopy(reflect.ValueOf(r)).Interface().(task.Record)
}

func deepCopy(v reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		p := reflect.New(v.Type().Elem())
		p.Elem().Set(deepCopy(v.Elem()))
		return p
	case reflect.Struct:
		c := reflect.New(v.Type()).Elem()
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() { // the others are derived
				c.Field(i).Set(deepCopy(v.Field(i)))
			}
		}
		return c
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			c.Index(i).Set(deepCopy(v.Index(i)))
		}
		return c
	}
	return v
}
