package naive

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/taskrt/taskrt/task"
)

// asked is what a job's tasks are: the filters of a list (Q1).
type asked struct {
	Status, Behavior, Error    []string
	Final                      *bool
	Label                      []struct{ Name, Value string }
	Worker, Node, Parent       string
	IDPrefix                   string `json:"id_prefix"`
	DueBefore                  int64  `json:"due_before"`
	Created, Started, Finished struct{ From, To int64 }
}

// filterOf reads a filter; ok: it is one.
func filterOf(spec []byte) (f asked, ok bool) {
	d := json.NewDecoder(bytes.NewReader(spec))
	d.DisallowUnknownFields()
	ok = bytes.HasPrefix(spec, []byte("{")) && d.Decode(&f) == nil && !d.More()
	for _, word := range f.Status {
		ok = ok && slices.Contains([]string{"CREATED", "RUNNING", "SUCCESS", "FAILURE", "RETRYING", "DEAD"}, word)
	}
	return f, ok
}

// means reports whether a task is asked for.
func (f asked) means(t *task.Task) bool {
	names := map[task.Status][]string{
		task.Created: {"CREATED"}, task.Running: {"RUNNING"}, task.Success: {"SUCCESS"}, task.Failure: {"FAILURE", "RETRYING"},
	}[t.Status]
	if t.Status == task.Failure && final(t) {
		names = []string{"FAILURE", "DEAD"}
	}
	worker, node, code := "", "", ""
	if n := len(t.History); t.Lease != nil {
		worker, node = t.Lease.Worker, t.Lease.Node
	} else if n > 0 {
		worker, node = t.History[n-1].Worker, t.History[n-1].Node
	}
	if t.Error != nil {
		code = t.Error.Code
	}
	is := func(want []string, like func(string) bool) bool {
		return len(want) == 0 || slices.ContainsFunc(want, like)
	}
	within := func(at task.Time, r struct{ From, To int64 }) bool {
		return r.From == 0 && r.To == 0 || at != 0 && int64(at) >= r.From && (r.To == 0 || int64(at) < r.To)
	}
	for _, l := range f.Label {
		if !slices.Contains(t.Labels, task.Label{Name: l.Name, Value: l.Value}) {
			return false
		}
	}
	return is(f.Status, func(s string) bool { return slices.Contains(names, s) }) &&
		is(f.Behavior, func(p string) bool {
			return regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(p), `\*`, ".*") + "$").MatchString(t.Behavior)
		}) && is(f.Error, func(s string) bool { return s == code }) && (f.Final == nil || *f.Final == final(t)) &&
		(f.Worker == "" || f.Worker == worker) && (f.Node == "" || f.Node == node) && (f.Parent == "" || f.Parent == t.Parent) &&
		strings.HasPrefix(t.ID, f.IDPrefix) && within(t.CreatedAt, f.Created) && within(t.StartedAt, f.Started) && within(t.FinishedAt, f.Finished) &&
		(f.DueBefore == 0 || t.NotBefore != 0 && int64(t.NotBefore) <= f.DueBefore)
}
