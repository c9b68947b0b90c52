package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// story is the demo in steps. Each step is true or ends the demo.
type story struct {
	*cluster

	wasm  string
	began time.Time
	long  int // index in primesUpTo of the long tasks
}

// say prints a line with the time since the beginning.
func (s *story) say(format string, args ...any) {
	fmt.Printf("%5.1fs  %s\n", time.Since(s.began).Seconds(), fmt.Sprintf(format, args...))
}

func (s *story) tell(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		s.startAll, s.push, s.shortTasks, s.measure, s.killRunner, s.killLeader, s.restart, s.verify,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if err := s.stop(ctx); err != nil {
		return err
	}
	s.say("all processes stopped cleanly; everything above was checked")
	return nil
}

func (s *story) startAll(ctx context.Context) error {
	s.say("starting three processes on loopback, every write synced to disk (sessions of %s)", sessionTTL)
	for _, p := range s.Nodes {
		if err := s.Start(ctx, p); err != nil {
			return err
		}
	}
	leader, err := s.waitWhole(ctx)
	if err != nil {
		return err
	}
	for _, p := range s.Nodes {
		s.say("  %s: %s, process %d", p.ID, p.URL, p.Cmd.Process.Pid)
	}
	s.say("%s leads", leader)
	return nil
}

// waitWhole waits until all three nodes are ready, run tasks, and agree on a leader.
func (s *story) waitWhole(ctx context.Context) (leader string, err error) {
	for _, p := range s.Nodes {
		if err := eventually(ctx, p.ID+" is not ready", func() (bool, error) { return ready(ctx, p) }); err != nil {
			return "", err
		}
	}
	err = eventually(ctx, "the cluster is not whole", func() (bool, error) {
		c, err := s.status(ctx)
		if err != nil {
			return false, err
		}
		leader = c.Leader
		reachable := 0
		for _, n := range c.Nodes {
			if n.Reachable {
				reachable++
			}
		}
		guests := 0
		for _, w := range c.Workers {
			if w.ID == w.Node { // beside it a node has sessions of its own affairs
				guests++
			}
		}
		return leader != "" && reachable == len(s.Nodes) && guests == len(s.Nodes), nil
	})
	return leader, err
}

func (s *story) push(ctx context.Context) error {
	for _, name := range []string{"wordcount", "flaky", "primes"} {
		if _, err := s.cli(ctx, "push", filepath.Join(s.wasm, name+".wasm")); err != nil {
			return err
		}
		s.say("pushed %s.wasm", name)
	}
	return nil
}

// shortTasks shows a result, a task shared by equal submits, and retries.
func (s *story) shortTasks(ctx context.Context) error {
	args := []string{"submit", "wordcount", "--params", `{"text":"a b a"}`}
	result, err := s.cli(ctx, append(args, "--wait")...)
	if err != nil {
		return err
	}
	var count struct {
		Words map[string]int `json:"words"`
		Total int            `json:"total"`
	}
	if err := json.Unmarshal([]byte(result), &count); err != nil || count.Total != 3 || count.Words["a"] != 2 || count.Words["b"] != 1 {
		return fmt.Errorf("wordcount answered %s (%w)", result, err)
	}
	s.say("wordcount \"a b a\": %s", result)
	id, err := s.cli(ctx, args...)
	if err != nil {
		return err
	}
	t, err := s.task(ctx, id)
	if err != nil {
		return err
	}
	if t.Attempt != 1 {
		return fmt.Errorf("two equal submits made %d runs", t.Attempt)
	}
	s.say("  submitted again: the same task %s, still 1 run", id)
	if _, err := s.cli(ctx, "submit", "flaky", "--id", "demo-flaky", "--params", `{"fail":2}`, "--wait"); err != nil {
		return err
	}
	if t, err = s.task(ctx, "demo-flaky"); err != nil {
		return err
	}
	if t.Attempt != 3 || t.Status != "SUCCESS" {
		return fmt.Errorf("flaky: %s after %d attempts", t.Status, t.Attempt)
	}
	s.say("flaky: %s", t.account())
	return nil
}

// primesUpTo are the numbers of primes up to a limit.
var primesUpTo = []struct{ limit, count int }{
	{100_000_000, 5_761_455}, {200_000_000, 11_078_937}, {500_000_000, 26_355_867}, {1_000_000_000, 50_847_534},
	{2_000_000_000, 98_222_287}, {5_000_000_000, 234_954_223}, {10_000_000_000, 455_052_511}, {20_000_000_000, 882_206_716},
}

// measure looks for a task that takes about this long on this machine: long enough to be killed in the middle.
func (s *story) measure(ctx context.Context) error {
	const long = 12 * time.Second
	const probe = 50_000_000
	out, err := s.cli(ctx, "submit", "primes", "--id", "demo-probe", "--params", fmt.Sprintf(`{"limit":%d}`, probe), "--wait")
	if err != nil {
		return err
	}
	t, err := s.task(ctx, "demo-probe")
	if err != nil {
		return err
	}
	took := max(t.FinishedAt.Sub(t.StartedAt), time.Millisecond)
	for s.long < len(primesUpTo)-1 && took*time.Duration(primesUpTo[s.long].limit/probe) < long {
		s.long++
	}
	s.say("primes up to %d: %s in %v", probe, out, took.Round(time.Millisecond))
	return nil
}

// submitLong submits a long task and waits until a node runs it, has saved a checkpoint, and still has most of the work before
// it. A task may turn out too short, because the machine has become faster since it was measured; it is thrown away.
func (s *story) submitLong(ctx context.Context, id string) (node string, err error) {
	for ; s.long < len(primesUpTo); s.long++ {
		params := fmt.Sprintf(`{"limit":%d}`, primesUpTo[s.long].limit)
		if _, err := s.cli(ctx, "submit", "primes", "--id", id, "--params", params); err != nil {
			return "", err
		}
		t, err := s.waitCheckpoint(ctx, id)
		if err != nil {
			return "", err
		}
		var at struct {
			Done int `json:"done"`
		}
		_ = json.Unmarshal(t.Checkpoint, &at) // of a final task: nothing
		if !t.Final && at.Done < primesUpTo[s.long].limit/5 {
			s.say("%s counts the primes up to %d; it runs on %s, checkpoint %s", id, primesUpTo[s.long].limit, t.Lease.Node, t.Checkpoint)
			return t.Lease.Node, nil
		}
		if _, err := s.cli(ctx, "rm", id); err != nil {
			return "", err
		}
	}
	return "", fmt.Errorf("no task is long enough for this machine")
}

// waitCheckpoint waits until a task runs and has a checkpoint, or is final.
func (s *story) waitCheckpoint(ctx context.Context, id string) (t *taskJSON, err error) {
	err = eventually(ctx, id+" has no checkpoint", func() (bool, error) {
		var err error
		if t, err = s.task(ctx, id); err != nil {
			return false, err
		}
		return t.Final || t.Lease != nil && t.Checkpoint != nil, nil
	})
	return t, err
}

// killRunner kills the process that runs a long task and sees the task finish elsewhere, from its checkpoint.
func (s *story) killRunner(ctx context.Context) error {
	const id = "demo-long"
	node, err := s.submitLong(ctx, id)
	if err != nil {
		return err
	}
	victim, err := s.Find(node)
	if err != nil {
		return err
	}
	victim.Kill9()
	s.say("kill -9 %s, which ran it", node)
	if err := s.waitPrimes(ctx, id); err != nil {
		return err
	}
	t, err := s.task(ctx, id)
	if err != nil {
		return err
	}
	last := t.History[len(t.History)-1]
	if t.Attempt < 2 || last.Node == node || !strings.Contains(t.account(), node+": LOST") {
		return fmt.Errorf("%s was not lost on %s and finished elsewhere: %s", id, node, t.account())
	}
	log, err := s.cli(ctx, "logs", id)
	if err != nil {
		return err
	}
	_, from, ok := strings.Cut(log, "going on from the checkpoint ")
	if !ok {
		return fmt.Errorf("%s began anew; it logged %q", id, log)
	}
	from, _, _ = strings.Cut(from, "\n")
	s.say("%s finished on %s, from the checkpoint %s", id, last.Node, from)
	s.say("  %s", t.account())
	return nil
}

// waitPrimes waits for a long task and checks its result.
func (s *story) waitPrimes(ctx context.Context, id string) error {
	out, err := s.cli(ctx, "wait", id)
	if err != nil {
		return err
	}
	if want := fmt.Sprintf(`{"count":%d}`, primesUpTo[s.long].count); out != want {
		return fmt.Errorf("%s: result %s, want %s", id, out, want)
	}
	s.say("%s: %s, which is right", id, out)
	return nil
}

// killLeader kills the leader as well, in the middle of another long task. One node of three is left: no majority.
func (s *story) killLeader(ctx context.Context) error {
	if _, err := s.submitLong(ctx, "demo-survivor"); err != nil {
		return err
	}
	c, err := s.status(ctx)
	if err != nil {
		return err
	}
	leader, err := s.Find(c.Leader)
	if err != nil {
		return err
	}
	if !leader.Alive() {
		return fmt.Errorf("the leader is said to be %s, which is dead", c.Leader)
	}
	leader.Kill9()
	s.say("kill -9 %s, the leader; one node of three is left, which decides nothing alone", c.Leader)
	return nil
}

// restart starts the two that were killed with the same command lines.
func (s *story) restart(ctx context.Context) error {
	for _, p := range s.Nodes {
		if p.Alive() {
			continue
		}
		if err := s.Start(ctx, p); err != nil {
			return err
		}
		s.say("%s restarted with the same command line", p.ID)
	}
	leader, err := s.waitWhole(ctx)
	if err != nil {
		return err
	}
	s.say("%s leads", leader)
	return nil
}

// verify checks that nothing that was accepted is lost, and that all nodes have the same state.
func (s *story) verify(ctx context.Context) error {
	if err := s.waitPrimes(ctx, "demo-survivor"); err != nil {
		return err
	}
	for _, id := range []string{"demo-flaky", "demo-probe", "demo-long", "demo-survivor"} {
		t, err := s.task(ctx, id)
		if err != nil {
			return err
		}
		if !t.Final || t.Status != "SUCCESS" {
			return fmt.Errorf("%s is %s", id, t.Status)
		}
		s.say("  %-14s %s; %s", id, t.Status, t.account())
	}
	return s.sameDigests(ctx)
}

// sameDigests compares the nodes' states once they stand at one index.
func (s *story) sameDigests(ctx context.Context) error {
	var digest string
	err := eventually(ctx, "the nodes do not come to one state", func() (bool, error) {
		c, err := s.status(ctx)
		if err != nil {
			return false, err
		}
		digests := map[string][]string{}
		for _, n := range c.Nodes {
			digests[n.Digest] = append(digests[n.Digest], n.ID)
			digest = n.Digest
		}
		if len(digests) != 1 || len(c.Nodes) != len(s.Nodes) {
			return false, errors.New(fmt.Sprint(digests))
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	s.say("all three nodes have the same state (index:digest %s)", digest)
	return nil
}
