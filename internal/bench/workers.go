package bench

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/internal/trio"
)

// wait sleeps for the milliseconds that its params say (testdata/wasm/wait.wat).
//
//go:embed wait.wasm
var wait []byte

const (
	waitBehavior = "bench.wait"
	heldTasks    = 4
	heldFor      = time.Minute // longer than any lease: nothing ends by itself
)

// workersPreset kills a worker process while it runs tasks. It measures how long it takes until all of them have a lease elsewhere. For the
// second row, the worker is started again at once.
func workersPreset(ctx context.Context, b *bed) error {
	if b.cluster == nil {
		return errNotOurs
	}
	b.steps = 2 * b.Runs
	for _, n := range b.cluster.Nodes {
		if _, err := b.client.Drain(ctx, n.ID, true); err != nil { // only the workers run tasks
			return err
		}
	}
	push := api.PushRequest{
		Namespace: b.namespace, Wasm: bytes.NewReader(wait), Size: int64(len(wait)), Manifest: json.RawMessage(`{"schema":1,"behaviors":[{"name":"` + waitBehavior + `"}]}`),
	}
	if _, err := b.client.Push(ctx, push); err != nil {
		return err
	}
	workers := map[string]*trio.Node{}
	defer func() {
		for _, w := range workers {
			if w.Alive() {
				w.Kill9()
			}
		}
	}()
	for _, id := range []string{"w1", "w2"} {
		w := &trio.Node{ID: id, Log: filepath.Join(b.cluster.dir, id+".log"), Args: append([]string{
			"worker", "--id", id, "--dir", filepath.Join(b.cluster.dir, id), "--server", strings.Join(b.URLs, ","), "--worker-slots", fmt.Sprint(heldTasks),
		}, b.cluster.secret...)}
		workers[id] = w
		if err := b.startWorker(ctx, w); err != nil {
			return err
		}
	}
	for _, row := range []struct {
		name  string
		again bool
	}{{"kill -9 of a worker", false}, {"kill -9 of a worker, started again at once", true}} {
		err := b.runs(ctx, row.name, func(ctx context.Context) ([]value, error) { return b.killWorker(ctx, workers, row.again) })
		if err != nil {
			return err
		}
	}
	return nil
}

// killWorker gives tasks to the workers, kills the worker that has the first of them, and waits until its tasks have new leases.
func (b *bed) killWorker(ctx context.Context, workers map[string]*trio.Node, again bool) ([]value, error) {
	var ids []string
	for range heldTasks {
		r, err := b.client.Submit(ctx, api.SubmitRequest{Namespace: b.namespace, Behavior: waitBehavior, Params: json.RawMessage(fmt.Sprint(heldFor.Milliseconds()))})
		if err != nil {
			return nil, err
		}
		ids = append(ids, r.Task.ID)
	}
	var victim string
	var held []string
	for _, id := range ids {
		t, err := b.leased(ctx, id, 1)
		if err != nil {
			return nil, err
		}
		if victim == "" {
			victim = t.Lease.Worker
		}
		if t.Lease.Worker == victim {
			held = append(held, id)
		}
	}
	w := workers[victim]
	if w == nil {
		return nil, fmt.Errorf("a task runs at %q, which is no worker of ours", victim)
	}
	begun := time.Now()
	w.Kill9()
	if again {
		if _, err := b.cluster.Launch(w); err != nil {
			return nil, err
		}
	}
	for _, id := range held {
		t, err := b.leased(ctx, id, 2)
		if err != nil {
			return nil, err
		}
		if !again && t.Lease.Worker == victim {
			return nil, errors.New("a killed worker has a task")
		}
	}
	took := time.Since(begun)
	for _, id := range ids {
		if err := b.client.Remove(ctx, b.namespace, id); err != nil {
			return nil, err
		}
	}
	if !again {
		if err := b.startWorker(ctx, w); err != nil {
			return nil, err
		}
	}
	return []value{{"until all run elsewhere", "s", took.Seconds()}, {"tasks it had", "", float64(len(held))}}, nil
}

// startWorker starts a worker and waits until the cluster knows it.
func (b *bed) startWorker(ctx context.Context, w *trio.Node) error {
	if _, err := b.cluster.Launch(w); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, maxWait, fmt.Errorf("worker %s has no session after %v: %s", w.ID, maxWait, w.LastLines(1)))
	defer cancel()
	for {
		list, err := b.client.Workers(ctx)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(list, func(k api.Worker) bool { return k.ID == w.ID }) {
			return nil
		}
		if err := Pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// leased waits until a task has the lease of an attempt.
func (b *bed) leased(ctx context.Context, id string, attempt uint64) (*api.Task, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, maxWait, fmt.Errorf("task %s has no lease number %d after %v", id, attempt, maxWait))
	defer cancel()
	for {
		t, err := b.client.Task(ctx, b.namespace, id, api.GetOptions{})
		if err != nil {
			return nil, err
		}
		if t.Lease != nil && uint64(t.Attempt) >= attempt {
			return t, nil
		}
		if err := Pause(ctx, 10*time.Millisecond); err != nil {
			return nil, err
		}
	}
}
