package naive

import (
	"slices"
	"strings"

	"github.com/taskrt/taskrt/task"
)

// The roles that steering needs.
const (
	read    = 1
	submit  = 2
	work    = 4
	operate = 16
)

// need is a role that a caller needs for a record: a task or an operation.
type need struct {
	role      uint64
	namespace string
	there     bool
	behavior  string
	creator   uint64
}

// needs is A5: what the command needs for what is there when it is applied.
func (m *Model) needs(c task.Command) (all []need) {
	at := func(role uint64, k task.Key) {
		n := need{role: role, namespace: k.Namespace}
		if t := m.Tasks[k]; t != nil {
			n.there, n.behavior, n.creator = true, t.Behavior, t.Creator
		}
		all = append(all, n)
	}
	of := func(k task.Key) {
		n := need{role: operate, namespace: k.Namespace}
		if o := m.Operations[k]; o != nil && !o.Removing {
			n.there, n.behavior, n.creator = true, o.Behavior, o.Creator
		}
		all = append(all, n)
	}
	switch c := c.(type) {
	case task.Cancel:
		at(operate, c.Key)
	case task.Remove:
		at(operate, c.Key)
	case task.RetryTask:
		at(operate, c.Key)
	case task.Submit:
		if c.IfExists == task.Rerun || c.IfExists == task.Resubmit {
			at(operate, task.Key{Namespace: c.Namespace, ID: c.ID})
		}
	case task.Finish:
		at(work, c.Key)
	case task.Beat:
		at(work, c.Key)
	case task.Snooze:
		at(work, c.Key)
	case task.CancelOperation:
		of(c.Key)
	case task.RetryOperation:
		of(c.Key)
	case task.RemoveOperation:
		of(c.Key)
	case task.Txn:
		for _, d := range c.Depends {
			at(read, task.Key{Namespace: c.Namespace, ID: d.ID})
		}
		for _, u := range c.Updates {
			at(operate, task.Key{Namespace: c.Namespace, ID: u.ID})
		}
		for _, d := range c.Deletes {
			at(operate, task.Key{Namespace: c.Namespace, ID: d.ID})
		}
		for _, f := range c.Finishes {
			at(work, task.Key{Namespace: c.Namespace, ID: f.Key.ID})
		}
	}
	return all
}

// steered is A5 and A8: a caller that lacks a role is refused, and to operate on what others made is recorded.
func (m *Model) steered(p task.Proposal, got task.Result) task.Result {
	if !p.Caller.Look {
		return m.note(p.Caller, m.apply(p.Command, got))
	}
	others, no := false, []task.Code{}
	for _, n := range m.needs(p.Command) {
		code, other := m.judge(p.Caller.Token, n)
		if others = others || other; code != "" {
			no = append(no, code)
		}
	}
	if len(no) > 0 {
		return oneOf(got, no...)
	}
	r := m.apply(p.Command, got)
	if others {
		m.note(p.Caller, r)
	}
	return r
}

// judge says whether the caller with a token lacks a role that it needs, and whether it operates on what others made.
func (m *Model) judge(by uint64, n need) (no task.Code, others bool) {
	roles, in, all, of := uint64(31), true, true, true // the root token's
	if x := m.Token(by); x != nil {
		roles, in, of, all = uint64(x.Grant.Roles), meant(x.Grant.Namespaces, n.namespace), meant(x.Grant.Behaviors, n.behavior), slices.Contains(x.Grant.Behaviors, "*")
	}
	has, own := roles&n.role != 0 && in, n.creator == by && roles&submit != 0 && in && n.role != work
	if n.there && !in {
		no = task.NamespaceNotFound
	} else if n.there && !own && (!has || !of) {
		no = task.Forbidden
	}
	return no, n.role == operate && (n.there && !own || !n.there && has && all)
}

// meant reports whether a pattern is for the name.
func meant(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		begin, open := strings.CutSuffix(p, "*")
		return p == name || open && strings.HasPrefix(name, begin)
	})
}
