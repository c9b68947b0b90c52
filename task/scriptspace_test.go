package task_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/blobs"
)

// What scripts say about namespaces, blobs and maintenance. A digest is written as its first characters, the rest is 0.
//
//	ns NAME [create=1] [weight=N] [max_running=N] [tasks=N] [bytes=N] [rate=N] [keep_success=MS] [keep_failure=MS] [keep=N] · status NAME ACTIVE|INACTIVE|PURGING
//	import FROM TO [only=KINDS] [from=N] [count=N]    records of FROM as they are now; KINDS of m b o t r
//	blob DIGEST [size=N] [ready=1 [since=INDEX]] · a payload @DIGEST:SIZE is a blob, and [@DIGEST,…] names some
//	native [repeat=MS] [version=V] · maintain [params=JSON] [supersede=N] · record [done=1] [success=1] [message=M] [objects=N]
//	drop ID... · dropops ID... · dropblobs DIGEST... [before=MS] · trim NAME [max=N] · purge NAME [max=N] · endpurge NAME [forget=MS]
//	spaces · instances · blobs · runs

func (s *script) spaceCommand(a *args) task.Command {
	switch a.verb {
	case "ns":
		c := task.PutNamespace{Name: a.word(0), Create: a.number("create", 0) != 0}
		q := task.Quota{MaxTasks: a.number("tasks", -1), MaxBytes: a.number("bytes", -1), SubmitsPerSecond: a.number("rate", -1)}
		if max(q.MaxTasks, q.MaxBytes, q.SubmitsPerSecond) >= 0 || a.number("bad", 0) != 0 {
			q.MaxTasks, q.MaxBytes, q.SubmitsPerSecond = max(q.MaxTasks, 0), max(q.MaxBytes, 0), max(q.SubmitsPerSecond, 0)
			c.Quota = &q
		}
		if w, most := a.number("weight", -1), a.number("max_running", -1); max(w, most) >= 0 {
			c.Share = &task.Share{Weight: max(w, 0), MaxRunning: max(most, 0)}
		}
		r := task.Retention{
			Success: task.Millis(a.number("keep_success", 0)), Failure: task.Millis(a.number("keep_failure", 0)), Count: a.number("keep", 0),
		}
		if r != (task.Retention{}) {
			c.Retention = &r
		}
		return c
	case "status":
		return task.SetNamespaceStatus{Name: a.word(0), Status: valueOf(a.word(1), task.NamespaceIsActive, task.NamespaceIsPurged)}
	case "import":
		return s.imported(a)
	case "blob":
		return task.NoteBlob{Digest: digest(a.word(0)), Size: a.number("size", 10), Ready: a.number("ready", 0) != 0, Since: uint64(a.number("since", 0))}
	case "native":
		p := task.DefaultPolicy()
		p.RepeatEvery, p.RepeatAny = task.Millis(a.number("repeat", 0)), true
		return task.Activate{
			Namespace: task.SystemNamespace, Module: task.Module{Digest: task.NativeMaintenance, Version: a.text("version", "n1")},
			Behaviors: []task.Activated{{Name: task.MaintenanceBehavior, Policy: p}},
		}
	}
	if c := s.accessCommand(a); c != nil {
		return c
	}
	if c := s.jobCommand(a); c != nil {
		return c
	}
	return s.maintenanceCommand(a)
}

// maintenanceCommand makes the commands of a run. The token is that of the run that is going on.
func (s *script) maintenanceCommand(a *args) task.Command {
	if !slices.Contains([]string{"maintain", "record", "drop", "dropops", "dropblobs", "trim", "purge", "endpurge"}, a.verb) {
		return nil
	}
	token := uint64(0)
	if t := s.m.Task(task.MaintenanceKey()); t != nil && t.Lease != nil {
		token = t.Lease.Token
	}
	ns := a.text("ns", task.DefaultNamespace)
	switch token = uint64(a.number("token", int64(token))); a.verb {
	case "maintain":
		return task.StartMaintenance{Params: a.payloadOrNone("params"), Supersede: a.number("supersede", 0)}
	case "record":
		c := task.RecordRun{Token: token, Run: task.MaintenanceRun{
			FinishedAt: a.number("done", 0), Success: a.number("success", 0) != 0, Message: a.text("message", ""),
			Before: a.number("before", 0),
		}}
		for i := range a.number("objects", 0) {
			c.Run.Objects = append(c.Run.Objects, task.ObjectCount{Kind: "task", Namespace: fmt.Sprint(i), Scanned: i})
		}
		return c
	case "drop", "dropops":
		var names []task.KeyRev
		for _, w := range a.words {
			id, rev, given := strings.Cut(w, "@")
			k := task.KeyRev{Key: task.Key{Namespace: ns, ID: id}}
			if t := s.m.Task(k.Key); t != nil && a.verb == "drop" {
				k.Rev = t.Rev
			} else if o := s.m.Operation(k.Key); o != nil {
				k.Rev = o.Rev
			}
			if given {
				k.Rev, _ = strconv.ParseUint(rev, 10, 64)
			}
			names = append(names, k)
		}
		if a.verb == "drop" {
			return task.DropTasks{Token: token, Tasks: names}
		}
		return task.DropOperations{Token: token, Operations: names}
	case "dropblobs":
		c := task.DropBlobs{Token: token, Before: task.Time(a.time("before", int64(s.h.Now)))}
		for _, w := range a.words {
			c.Digests = append(c.Digests, digest(w))
		}
		return c
	case "trim":
		return task.TrimBehavior{Token: token, Namespace: ns, Name: a.word(0), Max: a.number("max", 100)}
	case "purge":
		return task.PurgeNamespace{Token: token, Namespace: a.word(0), Max: a.number("max", 100)}
	case "endpurge":
		return task.EndPurge{Token: token, Namespace: a.word(0), Forget: task.Millis(a.number("forget", 0))}
	}
	return nil
}

// imported makes an import of what a namespace holds now, or of a part of it.
func (s *script) imported(a *args) task.Command {
	from, c := a.word(0), task.ImportRecords{Namespace: a.word(1)}
	only, skip, left := a.text("only", "mbotr"), a.number("from", 0), a.number("count", 1<<30)
	take := func(kind, ns string) bool {
		if !strings.Contains(only, kind) || ns != from {
			return false
		}
		skip--
		if skip >= 0 || left <= 0 {
			return false
		}
		left--
		return true
	}
	s.m.Freeze().Records(func(r task.Record) bool {
		switch r := copyRecord(r).(type) {
		case *task.Module:
			if take("m", from) {
				c.Modules = append(c.Modules, r)
			}
		case *task.Behavior:
			if take("b", r.Namespace) {
				c.Behaviors = append(c.Behaviors, r)
			}
		case *task.Operation:
			if take("o", r.Namespace) {
				c.Operations = append(c.Operations, r)
			}
		case *task.Task:
			if take("t", r.Namespace) {
				c.Tasks = append(c.Tasks, r)
			}
		case *task.StoreRecord:
			if take("r", r.Namespace) {
				c.Records = append(c.Records, r)
			}
		}
		return true
	})
	return c
}

// blobPayload makes a payload of a script's text.
func blobPayload(text string) *task.Payload {
	p := &task.Payload{Encoding: task.JSON}
	if content, size, ok := strings.Cut(text, ":"); ok && strings.HasPrefix(content, "@") {
		n, _ := strconv.ParseInt(size, 10, 64)
		p.Blobs = &task.Blobs{Content: digest(content[1:]), Size: n}
		return p
	}
	for i, part := range strings.Split(text, "@") {
		if i > 0 {
			d := strings.TrimRight(part, ",]}")
			part = fmt.Sprintf(`{"$blob":"sha256:%s"}`, digest(d)) + part[len(d):]
		}
		p.Data = append(p.Data, part...)
	}
	if named := blobs.Named(p.Data); len(named) > 0 {
		p.Blobs = &task.Blobs{Named: named}
	}
	return p
}

// formatPayload writes a payload as scripts do.
func formatPayload(p task.Payload) string {
	text := string(p.Data)
	if p.Blobs == nil {
		return text
	}
	if p.Blobs.Content != "" {
		return fmt.Sprintf("@%s:%d", short(p.Blobs.Content), p.Blobs.Size)
	}
	for _, d := range p.Blobs.Named {
		text = strings.ReplaceAll(text, fmt.Sprintf(`{"$blob":"sha256:%s"}`, d), "@"+short(d))
	}
	return text
}

func digest(short string) string { return (short + strings.Repeat("0", 64))[:64] }

// lookAtSpaces runs the lines that only read.
func (s *script) lookAtSpaces(a *args) bool {
	switch a.verb {
	case "spaces":
		for _, n := range s.m.Namespaces() {
			if n.Name == task.SystemNamespace && n.Usage == (task.Usage{}) {
				continue
			}
			fmt.Fprintln(&s.out, formatSpace(n), formatUsage(n.Usage))
		}
	case "instances":
		s.m.Freeze().Records(func(r task.Record) bool {
			if x, ok := r.(*task.Instance); ok {
				fmt.Fprintf(&s.out, "instance %s/%s %q last=%d\n", x.Namespace, x.Behavior, x.Target, x.Last)
			}
			return true
		})
	case "blobs":
		for b := range s.m.Blobs("") {
			fmt.Fprintf(&s.out, "blob %s size=%d ready=%t noted=%d refs=%d\n", short(b.Digest), b.Size, b.Ready, b.Noted, b.Refs)
		}
	case "runs":
		for _, r := range s.m.MaintenanceRuns() {
			var f fields
			f.add("finished", r.FinishedAt)
			f.add("success", r.Success)
			f.add("message", r.Message)
			f.add("before", r.Before)
			f.add("objects", len(r.Objects))
			for _, o := range r.Objects {
				f.add(fmt.Sprintf("%s/%s", o.Kind, o.Namespace), o.Deleted)
			}
			f.add("ended", r.Ended)
			f.add("by", r.By)
			fmt.Fprintf(&s.out, "run %d token=%d worker=%s started=%d %s\n", r.Run, r.Token, r.Worker, r.StartedAt, f.b.String())
		}
	default:
		return false
	}
	return true
}

func short(digest string) string { return strings.TrimRight(digest, "0") }

func formatSpace(n *task.Namespace) string {
	var f fields
	f.add("tasks", n.Quota.MaxTasks)
	f.add("bytes", n.Quota.MaxBytes)
	f.add("rate", n.Quota.SubmitsPerSecond)
	f.add("keep_success", n.Retention.Success)
	f.add("keep_failure", n.Retention.Failure)
	f.add("keep", n.Retention.Count)
	f.add("changed", n.ChangedAt)
	f.add("bucket", n.Bucket)
	f.add("bucket_at", n.BucketAt)
	return fmt.Sprintf("namespace %s: %s rev=%d created=%d %s", n.Name, n.Status, n.Rev, n.CreatedAt, f.b.String())
}

func formatUsage(u task.Usage) string {
	var f fields
	f.add("tasks", u.Tasks)
	f.add("owed", u.Owed)
	f.add("running", u.Running)
	f.add("bytes", u.Bytes)
	f.add("operations", u.Operations)
	f.add("records", u.Records)
	f.add("behaviors", u.Behaviors)
	f.add("forever", u.Forever)
	f.add("excess", u.Excess)
	return "{" + f.b.String() + "}"
}

func (f *fields) addMore(r task.Result) {
	if r.Operation != nil {
		f.add("operation", fmt.Sprintf("%s/%d", r.Operation.ID, r.Operation.Rev))
	}
	if r.Space != nil {
		f.add("namespace", fmt.Sprintf("%s/%d", r.Space.Name, r.Space.Rev))
	}
	f.add("count", r.Count)
	f.add("left", r.Left)
}

func (f *fields) addEvent(e task.Event) {
	f.addJob(e.Job)
	if e.Audit != nil {
		f.add("record", e.Audit.Number)
	}
	if e.Access != nil {
		f.add("access", fmt.Sprintf("%s/%d/%d", e.Access.Name, e.Access.Number, e.Access.Rev))
	}
	if e.Operation != nil {
		f.add("operation", fmt.Sprintf("%s/%d/%s", e.Operation.ID, e.Operation.Rev, e.Operation.Status))
	}
	if e.Space != nil {
		f.add("namespace", fmt.Sprintf("%s/%d/%s", e.Space.Name, e.Space.Rev, e.Space.Status))
	}
	f.add("digests", strings.Join(slices.Collect(func(yield func(string) bool) {
		for _, d := range e.Digests {
			if !yield(short(d)) {
				return
			}
		}
	}), ","))
}
