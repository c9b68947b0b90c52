package task_test

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/taskrt/taskrt/task"
)

// policy is the default one with what the line says.
func (a *args) policy() task.Policy {
	p := task.DefaultPolicy()
	p.Retry.JitterPercent = 0
	for name, field := range map[string]*int64{
		"retry": &p.Retry.MaxAttempts, "jitter": &p.Retry.JitterPercent, "max_lost": &p.MaxLost,
		"max_concurrent": &p.MaxConcurrent, "max_per_key": &p.MaxPerKey,
	} {
		*field = a.number(name, *field)
	}
	for name, field := range map[string]*task.Millis{
		"keep_success": &p.KeepSuccess, "keep_failure": &p.KeepFailure, "repeat": &p.RepeatEvery,
		"run_timeout": &p.RunTimeout, "grace": &p.CancelGrace, "lease": &p.Lease,
	} {
		*field = task.Millis(a.number(name, int64(*field)))
	}
	p.Operation = a.operationPolicy()
	p.KeepCount = a.number("keep_count", 0)
	p.RepeatAny = a.number("repeat_any", 0) != 0
	p.KeyStrict = a.number("strict", 0) != 0
	if a.text("on_timeout", "") == "fail" {
		p.OnTimeout = task.OnErrorFail
	}
	return p
}

// more returns what this file adds to the commands of a script: to c, or instead of none.
func (s *script) more(a *args, c task.Command) task.Command {
	now := int64(s.h.Now)
	switch x := c.(type) {
	case task.Submit:
		x.BehaviorRev, x.Existing = uint64(a.number("behavior_rev", 0)), a.number("existing", 0) != 0
		return x
	case task.Finish:
		x.Again = task.Time(a.time("again", now))
		return x
	}
	switch a.verb {
	case "put", "rollback", "delete":
		return a.behavior()
	case "txn":
		return s.txn(a)
	case "retry":
		return task.RetryTask{
			Key: s.key(a), NotBefore: task.Time(a.time("not_before", now)), Delay: task.Millis(a.number("delay", 0)),
			Deadline: task.Time(a.time("deadline", now)), Version: a.text("version", ""), KeepCheckpoint: a.number("keep", 0) != 0,
		}
	}
	return c
}

// behavior returns the commands about one behavior.
func (a *args) behavior() task.Command {
	ns, name := a.text("ns", task.DefaultNamespace), a.word(0)
	switch a.verb {
	case "put":
		return task.PutBehavior{Namespace: ns, Name: name, Version: a.text("version", "e1"), Policy: a.policy()}
	case "rollback":
		return task.ActivateVersion{Namespace: ns, Name: name, Version: a.text("version", "")}
	}
	return task.DeleteBehavior{Namespace: ns, Name: name, Purge: a.number("purge", 0) != 0}
}

// txn makes a transaction of the parts of a line.
func (s *script) txn(a *args) task.Command {
	c := task.Txn{Namespace: a.text("ns", task.DefaultNamespace)}
	for _, p := range a.parts {
		switch p.verb {
		case "depend":
			c.Depends = append(c.Depends, task.TxnDepend{ID: p.word(0), Rev: uint64(p.number("rev", 0)), Token: uint64(p.number("token", 0))})
		case "update":
			c.Updates = append(c.Updates, s.txnUpdate(p))
		case "delete":
			c.Deletes = append(c.Deletes, task.TxnDelete{ID: p.word(0), Rev: uint64(p.number("rev", 0))})
		default:
			switch x := s.more(p, s.command(p)).(type) {
			case task.Submit:
				c.Submits = append(c.Submits, x)
			case task.Finish:
				c.Finishes = append(c.Finishes, x)
			default:
				a.err = fmt.Errorf("a transaction has no %q", p.verb)
			}
		}
		a.err = cmp.Or(a.err, p.err)
		for name := range p.named {
			a.err = fmt.Errorf("unknown argument %q", name)
		}
	}
	return c
}

func (s *script) txnUpdate(p *args) task.TxnUpdate {
	now := int64(s.h.Now)
	u := task.TxnUpdate{
		ID: p.word(0), Rev: uint64(p.number("rev", 0)), Params: p.payload("params"), ConcurrencyKey: p.text("ckey", ""),
		BehaviorRev: uint64(p.number("behavior_rev", 0)),
	}
	if _, ok := p.named["not_before"]; ok {
		u.NotBefore = new(task.Time(p.time("not_before", now)))
	}
	if _, ok := p.named["delay"]; ok {
		u.Delay = new(task.Millis(p.number("delay", 0)))
	}
	if _, ok := p.named["deadline"]; ok {
		u.Deadline = new(task.Time(p.time("deadline", now)))
	}
	if _, ok := p.named["priority"]; ok {
		u.Priority = new(int8(p.number("priority", 0)))
	}
	if label, ok := p.named["label"]; ok {
		u.HasLabels = true
		if name, value, ok := strings.Cut(label, ":"); ok {
			u.Labels = []task.Label{{Name: name, Value: value}}
		}
		delete(p.named, "label")
	}
	return u
}
