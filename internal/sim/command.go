package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/taskrt/taskrt/task"
)

func payload(s *string) task.Payload {
	if s == nil {
		return task.Payload{}
	}
	p := task.Payload{Encoding: task.JSON, Data: []byte(*s)}
	if name, ok := strings.CutPrefix(*s, "@"); ok {
		name, wrong := strings.CutPrefix(name, "!")
		p.Data, p.Blobs = nil, &task.Blobs{Content: digestOf(name), Size: sizeOf(name)}
		if wrong {
			p.Blobs.Size++
		}
	} else if names, ok := strings.CutPrefix(*s, "#"); ok {
		p.Blobs = &task.Blobs{}
		for name := range strings.SplitSeq(names, "#") {
			p.Blobs.Named = append(p.Blobs.Named, digestOf(name))
		}
		slices.Sort(p.Blobs.Named)
		p.Blobs.Named = slices.Compact(p.Blobs.Named)
	}
	return p
}

// recordBlob is the blob that stands in the place of a record's data.
func recordBlob(s *string) task.Payload {
	p := payload(s)
	if s != nil {
		p.Encoding = task.Bytes
	}
	return p
}

// digestOf makes up the digest of the blob that a script calls name; sizeOf makes up its size.
func digestOf(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])
}

func sizeOf(name string) int64 { return int64(3 * len(name)) }

func payloadRef(s *string) *task.Payload {
	if s == nil {
		return nil
	}
	p := payload(s)
	return &p
}

// resolve makes the proposal for which the operation stands.
func (s *symbols) resolve(o Op) task.Proposal {
	return task.Proposal{Origin: task.Origin{Process: o.Process, Seq: o.Seq, Lowest: o.Lowest, Body: o.Body}, Caller: s.caller(o), Command: s.command(o)}
}

func (s *symbols) command(o Op) task.Command {
	o.ID = s.real(o)
	k := o.key()
	switch o.Verb {
	case "submit":
		return s.submit(o)
	case "assign":
		c := task.Assign{Key: k, Rev: s.rev(o), Fresh: o.Fresh}
		if o.External {
			c.External = &task.Acceptor{Worker: o.Worker, Lease: o.Lease, MaxNotBefore: o.At, Request: o.Request}
		} else {
			c.Session = s.session(o)
		}
		return c
	case "finish":
		return s.finish(o)
	case "beat":
		return task.Beat{
			Key: k, Token: s.token(o), Seq: o.Report, Progress: payloadRef(o.Progress), Checkpoint: payloadRef(o.Checkpoint),
			Extend: o.Lease, External: o.External,
		}
	case "snooze":
		return task.Snooze{
			Key: k, Token: s.token(o), Seq: o.Report, At: o.At, Checkpoint: payloadRef(o.Checkpoint), External: o.External, Fuel: o.Fuel, Pages: o.Pages,
			Progress: payloadRef(o.Progress),
		}
	case "giveback":
		return task.GiveBack{Key: k, Token: s.token(o), External: o.External, Fuel: o.Fuel, Pages: o.Pages}
	case "cancel":
		return task.Cancel{Key: k}
	case "remove":
		return task.Remove{Key: k}
	case "retry":
		return task.RetryTask{
			Key: k, NotBefore: o.At, Delay: o.Delay, Deadline: o.Deadline, Version: version(o.Version), KeepCheckpoint: o.Keep,
		}
	case "open":
		return task.OpenSession{Worker: o.Worker, Node: o.Node, Slots: o.Slots, Runs: o.Slots / 2, TTL: o.TTL, Proof: []byte(o.Proof), Hello: o.Hello, Alone: o.Alone, Isolates: o.Apart}
	case "crash":
		c := task.CrashSession{Worker: o.Worker, Proof: []byte(o.Proof), Before: o.Hello}
		for _, p := range o.Parts {
			p.ID = s.real(p.Op)
			c.Tokens = append(c.Tokens, s.token(p.Op))
		}
		return c
	case "renew":
		return task.RenewSession{Session: s.session(o), Acked: o.Acked}
	case "close":
		return task.CloseSession{Session: s.session(o)}
	case "drain":
		return task.DrainNode{Node: o.Node, Drain: o.On}
	case "member":
		return task.SetMember{Node: o.Node, Vote: o.Hello, Remove: o.Name, Force: o.On}
	case "hold":
		return task.HoldBlobs{ID: o.Name, Holder: o.Node, TTL: o.TTL, Renew: o.On}
	case "refound":
		return task.Refound{DropTokens: o.On}
	case "tick":
		return task.Tick{}
	}
	return s.contents(o)
}

// contents makes commands about behaviors, transactions and the TaskStore.
func (s *symbols) contents(o Op) task.Command {
	ns := o.key().Namespace
	switch o.Verb {
	case "activate":
		c := task.Activate{Namespace: ns, Module: module(o.Module), Noted: o.Noted}
		for _, b := range o.Behaviors {
			c.Behaviors = append(c.Behaviors, task.Activated{Name: b.Name, Policy: b.policy()})
		}
		return c
	case "put":
		b := o.Behaviors[0]
		return task.PutBehavior{Namespace: ns, Name: b.Name, Version: version(o.Module), Policy: b.policy()}
	case "rollback":
		return task.ActivateVersion{Namespace: ns, Name: o.Behavior, Version: version(o.Version)}
	case "delete":
		return task.DeleteBehavior{Namespace: ns, Name: o.Behavior, Purge: o.On}
	case "pause":
		return task.PauseBehavior{Namespace: ns, Name: o.Behavior, Paused: o.On}
	case "start":
		c := task.StartOperation{
			Namespace: ns, ID: o.ID, Behavior: o.Behavior, Target: o.Target, Object: o.Object, Partitions: o.Partitions,
			Arg: payload(o.Params), Labels: labels(o.Label), Priority: o.Priority, BehaviorRev: s.valid(o), Trace: trace(o.Trace),
		}
		for i := range o.Partitions {
			if o.Named {
				c.Names = append(c.Names, fmt.Sprint("part-", i))
			}
		}
		return c
	case "op-cancel":
		return task.CancelOperation{Key: o.key()}
	case "op-retry":
		return task.RetryOperation{Key: o.key()}
	case "op-remove":
		return task.RemoveOperation{Key: o.key()}
	case "space":
		return task.PutNamespace{Name: ns, Create: o.Create, Quota: o.Quota, Retention: o.Retention, Share: o.Share}
	case "status":
		return task.SetNamespaceStatus{Name: ns, Status: o.Status}
	case "txn":
		c := task.Txn{Namespace: ns}
		for _, p := range o.Parts {
			p.NS = ns
			p.ID = s.real(p.Op)
			s.part(&c, p)
		}
		return c
	case "change":
		return s.storeUpdate(o)
	case "claim":
		c := task.StoreClaim{Namespace: ns, Client: o.Client, Group: o.Group, Duration: o.For, Seed: o.Seed}
		for _, p := range o.Parts {
			c.Depends = append(c.Depends, s.record(p.Op))
		}
		return c
	case "token", "rotate", "revoke", "root", "sign-in", "refusals":
		return s.access(o)
	case "job", "select", "step", "endjob":
		return s.jobCommand(o)
	}
	return s.upkeep(o)
}

func (s *symbols) submit(o Op) task.Submit {
	k := o.key()
	return task.Submit{
		Namespace: k.Namespace, ID: k.ID, Behavior: o.Behavior, Params: payload(o.Params), IfExists: o.If,
		NotBefore: o.At, Delay: o.Delay, Deadline: o.Deadline, Priority: o.Priority, HasParams: o.Params != nil,
		Labels: labels(o.Label), BehaviorRev: s.valid(o), ConcurrencyKey: o.Key, Existing: o.Existing, Parent: o.Parent, HasLabels: o.Marks, HasPriority: o.Marks,
		Trace: trace(o.Trace),
	}
}

// trace returns the traceparent of a number; "" of 0.
func trace(n task.Time) string {
	if n == 0 {
		return ""
	}
	text := fmt.Sprintf("00-%032x-%016x-%02x", n, n, n&1)
	if n%5 == 0 {
		text += fmt.Sprintf(";sim=%d", n) // with a tracestate
	}
	return text
}

func labels(value string) []task.Label {
	if value == "" {
		return nil
	}
	return []task.Label{{Name: "l", Value: value}}
}

func (s *symbols) finish(o Op) task.Finish {
	c := task.Finish{Key: o.key(), Token: s.token(o), Seq: o.Report, Result: payload(o.Result), Again: o.Again, External: o.External, Fuel: o.Fuel, Pages: o.Pages, InTxn: o.InTxn, Progress: payloadRef(o.Progress)}
	if o.Error != "" {
		c.Error = &task.Error{Code: o.Error, Retryable: !o.Permanent}
	}
	return c
}

// part adds one part to a transaction.
func (s *symbols) part(c *task.Txn, p Part) {
	rev := uint64(0)
	if o := p.Op; o.Age > 0 {
		o.Age--
		rev = s.rev(o)
	}
	switch p.Kind {
	case "depend":
		d := task.TxnDepend{ID: p.ID, Rev: rev}
		if p.Attempt > 0 {
			d.Token = s.token(p.Op)
		}
		c.Depends = append(c.Depends, d)
	case "submit":
		c.Submits = append(c.Submits, s.submit(p.Op))
	case "finish":
		c.Finishes = append(c.Finishes, s.finish(p.Op))
	case "delete":
		c.Deletes = append(c.Deletes, task.TxnDelete{ID: p.ID, Rev: rev})
	case "update":
		u := task.TxnUpdate{ID: p.ID, Rev: rev, Params: payloadRef(p.Params), ConcurrencyKey: p.Key, BehaviorRev: s.valid(p.Op)}
		if p.At != 0 {
			u.NotBefore = &p.At
		} else if p.Delay != 0 {
			u.Delay = &p.Delay
		}
		if p.Deadline != 0 || p.On { // On: none
			u.Deadline = &p.Deadline
		}
		if p.Priority >= 0 {
			u.Priority = &p.Priority
		}
		if u.Labels = labels(p.Label); p.Label != "" {
			u.HasLabels = true
		}
		c.Updates = append(c.Updates, u)
	default:
		panic(fmt.Sprintf("sim: unknown part %q", p.Kind))
	}
}

func (s *symbols) storeUpdate(o Op) task.StoreUpdate {
	c := task.StoreUpdate{Namespace: o.key().Namespace, Client: o.Client}
	for _, p := range o.Parts {
		switch p.Kind {
		case "add":
			c.Adds = append(c.Adds, task.StoreAdd{Group: p.Group, Data: p.Data, Available: p.At, Blob: recordBlob(p.Params)})
		case "change":
			c.Changes = append(c.Changes, task.StoreChange{ID: s.record(p.Op), Data: p.Data, Available: p.At, Blob: recordBlob(p.Params)})
		case "delete":
			c.Deletes = append(c.Deletes, s.record(p.Op))
		case "depend":
			c.Depends = append(c.Depends, s.record(p.Op))
		default:
			panic(fmt.Sprintf("sim: unknown part %q", p.Kind))
		}
	}
	return c
}

// version is the name of a version that a script calls name.
func version(name string) string {
	if name == "" || name == task.VersionActive {
		return name
	}
	return versionPrefix + name
}

const versionPrefix = "version-of-"

// module makes up the module that a script calls name.
func module(name string) task.Module {
	return task.Module{Digest: digestOf(name), Size: sizeOf(name), Manifest: []byte(`{"name":"` + name + `"}`), Version: version(name)}
}
