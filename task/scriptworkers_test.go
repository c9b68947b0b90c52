package task_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/taskrt/taskrt/task"
)

// What scripts say about limits, pauses, drained nodes and external workers.

// acceptor reads who takes an external lease; nil if nobody is named.
func (a *args) acceptor(now int64) *task.Acceptor {
	x := &task.Acceptor{
		Worker: a.text("worker", ""), Lease: task.Millis(a.number("lease", 0)),
		MaxNotBefore: task.Time(a.time("max_not_before", now)), Request: a.text("request", ""),
	}
	if x.Worker == "" {
		return nil
	}
	return x
}

// free reads WORKER@BEHAVIOR:SLOTS[:MAX_NOT_BEFORE]; who comes first waits longest.
func (a *args) free(w string, i int) task.Free {
	worker, rest, _ := strings.Cut(w, "@")
	parts := append(strings.Split(rest, ":"), "0", "0")
	slots, err := strconv.Atoi(parts[1])
	if err != nil {
		a.err = err
	}
	early, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil {
		a.err = err
	}
	return task.Free{
		External: &task.Acceptor{Worker: worker, MaxNotBefore: task.Time(early)}, Order: uint64(i),
		Namespace: task.DefaultNamespace, Behavior: parts[0], Slots: slots,
	}
}

// http says whether a report comes over HTTP: like its lease if the script does not say.
func (s *script) http(a *args, k task.Key) bool {
	t := s.m.Task(k)
	switch a.text("http", "") {
	case "yes":
		return true
	case "no":
		return false
	}
	return t != nil && t.Lease != nil && t.Lease.External()
}

// crash ends the session of a worker whose process died while the named tasks executed.
func (s *script) crash(a *args) task.Command {
	worker := a.word(0)
	c := task.CrashSession{Worker: worker, Proof: []byte(a.text("proof", worker)), Before: uint64(a.number("before", 1))}
	for _, id := range a.words[1:] {
		if t := s.m.Task(task.Key{Namespace: task.DefaultNamespace, ID: id}); t != nil && t.Lease != nil {
			c.Tokens = append(c.Tokens, t.Lease.Token)
		}
	}
	return c
}

func (s *script) workerCommand(a *args) task.Command {
	switch a.verb {
	case "pause", "resume":
		return task.PauseBehavior{Namespace: a.text("ns", task.DefaultNamespace), Name: a.word(0), Paused: a.verb == "pause"}
	case "drain":
		return task.DrainNode{Node: a.word(0), Drain: a.text("off", "") == ""}
	case "refound":
		return task.Refound{DropTokens: a.text("drop", "") != ""}
	case "hold":
		return task.HoldBlobs{ID: a.word(0), Holder: a.text("holder", ""), TTL: task.Millis(a.number("ttl", 0)), Renew: a.text("renew", "") != ""}
	case "member":
		return task.SetMember{Node: a.word(0), Vote: uint64(a.number("vote", 0)), Remove: a.text("remove", ""), Force: a.text("force", "") != ""}
	}
	if c := s.operationCommand(a); c != nil {
		return c
	}
	return s.spaceCommand(a)
}

// lookAtWorkers runs the lines that only read.
func (s *script) lookAtWorkers(a *args) bool {
	switch a.verb {
	case "stats":
		fmt.Fprintf(&s.out, "%+v\n", s.m.BehaviorStats(task.DefaultNamespace, a.word(0)))
	case "workers":
		workers := s.m.ExternalWorkers()
		for _, w := range slices.Sorted(maps.Keys(workers)) {
			fmt.Fprintf(&s.out, "worker %s running=%d\n", w, workers[w])
		}
		fmt.Fprintln(&s.out, "drained", s.m.DrainedNodes())
	case "holds":
		for _, x := range task.Holds(s.m) {
			fmt.Fprintf(&s.out, "%s holder=%q ttl=%d until=%d\n", x.ID, x.Holder, x.TTL, x.Until)
		}
	case "members":
		for _, x := range s.m.Roster().Members() {
			fmt.Fprintf(&s.out, "%s vote=%d removed=%v force=%t index=%d\n", x.Node, x.Vote, x.Removed, x.Force, x.Index)
		}
	case "suspects":
		fmt.Fprintln(&s.out, s.m.SuspectModules())
	case "accepted":
		for _, t := range s.m.LeasesOf(task.DefaultNamespace, a.word(0), a.word(1), a.word(2)) {
			fmt.Fprintf(&s.out, "%s token=%d until=%d\n", t.ID, t.Lease.Token, s.m.LeaseEnd(t))
		}
	default:
		return s.lookAtOperations(a) || s.lookAtSpaces(a) || s.lookAtAccess(a) || s.lookAtJobs(a)
	}
	return true
}
