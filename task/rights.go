package task

import "github.com/taskrt/taskrt/task/access"

// Steers reports whether a command is about tasks or operations that exist. Whoever proposes such a command for a token sets Caller.Look.
func Steers(c Command) (does bool) {
	about(c, func(access.Roles, bool, Key) { does = true })
	return does
}

// about calls need for each task or operation that a command changes, reports on or depends on, with the role that this takes.
func about(c Command, need func(role access.Roles, tasks bool, k Key)) {
	switch c := c.(type) {
	case Cancel:
		need(access.Operate, true, c.Key)
	case Remove:
		need(access.Operate, true, c.Key)
	case RetryTask:
		need(access.Operate, true, c.Key)
	case CancelOperation:
		need(access.Operate, false, c.Key)
	case RetryOperation:
		need(access.Operate, false, c.Key)
	case RemoveOperation:
		need(access.Operate, false, c.Key)
	case Finish:
		need(access.Work, true, c.Key)
	case Beat:
		need(access.Work, true, c.Key)
	case Snooze:
		need(access.Work, true, c.Key)
	case Submit:
		if c.IfExists >= Rerun {
			need(access.Operate, true, Key{c.Namespace, c.ID})
		}
	case Txn:
		for i := range c.Finishes {
			need(access.Work, true, Key{c.Namespace, c.Finishes[i].Key.ID})
		}
		for i := range c.Updates {
			need(access.Operate, true, Key{c.Namespace, c.Updates[i].ID})
		}
		for _, d := range c.Deletes {
			need(access.Operate, true, Key{c.Namespace, d.ID})
		}
		for _, d := range c.Depends {
			need(access.Read, true, Key{c.Namespace, d.ID})
		}
	}
}

// steer carries out a command if its caller may do so with everything that the command is about (SPEC A5). The proposer has looked, too, but another
// task may have the ID since. The audit records commands that operate on what others created (SPEC A8). The node counts refusals.
func steer(m *Machine, by *Caller, c Command) Result {
	x := m.access.Asked(by.Token)
	about(c, func(role access.Roles, tasks bool, k Key) {
		if r := m.find(k); tasks && r != nil {
			x.Record(role, k.Namespace, m.task(r).Behavior, m.task(r).Creator)
		} else if o := m.liveOperation(k); !tasks && o != nil {
			x.Record(role, k.Namespace, o.operation.Behavior, o.operation.Creator)
		} else {
			x.Nothing(role, k.Namespace)
		}
	})
	if no := x.Refusal(); no.Code != "" {
		return m.stamped(accessResult(no))
	}
	r := m.stamped(c.apply(m))
	if x.Others {
		noted(m, by, r)
	}
	return r
}
