package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/api/runs"
	"github.com/taskrt/taskrt/node/maintain"
	"github.com/taskrt/taskrt/raftstore"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker"
)

// codeMaintenance is the error code of a run that failed; its record says why.
const codeMaintenance = "maintenance_failed"

// maintenanceGuest runs the built-in behavior, as a module would be run: in a slot of the worker, under its session, with
// a token (SPEC M1).
type maintenanceGuest struct{ n *Node }

var _ worker.Guest = maintenanceGuest{}

// native are the behaviors that are built into this node's worker.
func (n *Node) native() map[string]worker.Guest {
	return map[string]worker.Guest{task.NativeMaintenance: maintenanceGuest{n}}
}

// errCancelled ends a run that was told to.
var errCancelled = fmt.Errorf("%w: cancelled", maintain.ErrStopped)

// Run implements worker.Guest.
func (g maintenanceGuest) Run(ctx context.Context, a runtime.Attempt, host runtime.Host) runtime.Outcome {
	var params runs.Params
	var info abi.TaskInfo
	if len(a.Params) > 0 {
		if err := json.Unmarshal(a.Params, &params); err != nil {
			return failedRun("params: " + err.Error())
		}
	}
	if err := json.Unmarshal(a.InfoJSON(), &info); err != nil {
		return failedRun("task info: " + err.Error())
	}
	ctx, cancel := context.WithTimeoutCause(ctx, a.RunTimeout, runtime.ErrKilledTimeout)
	defer cancel()
	run := maintain.New(g.n.cfg.Maintenance, maintainCluster(g), nodeDisks(g), maintain.Job{
		Run: info.Attempt, Token: info.Token, Worker: info.Worker, DryRun: params.DryRun,
		Progress: func(phase string, done int64) error { return heard(host.Beat(done, 0, []byte(phase))) },
	})
	out, err := run.Do(ctx)
	if err != nil {
		return g.broken(ctx, err)
	}
	host.Log(abi.LogInfo, []byte(summary(&out.Record)))
	if !out.Record.Success {
		return failedRun(out.Record.Message)
	}
	o := runtime.Outcome{Kind: runtime.Succeeded, HasResult: true, Result: totals(&out.Record)}
	if out.Again > 0 {
		o.NextTime = g.n.cfg.Clock.Wall().Add(out.Again).UnixMilli()
	}
	return o
}

// heard turns what the worker tells a guest into a reason to end.
func heard(s abi.Signals) error {
	switch {
	case s&abi.SignalLeaseLost != 0:
		return maintain.ErrHalt
	case s&abi.SignalCancel != 0:
		return errCancelled
	case s&abi.SignalDraining != 0:
		return maintain.ErrStopped
	}
	return nil
}

// broken is the outcome of a run that has nothing more to say.
func (g maintenanceGuest) broken(ctx context.Context, err error) runtime.Outcome {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, runtime.ErrKilledTimeout):
		return runtime.Outcome{Kind: runtime.Failed, Class: runtime.ClassTimeout, Code: runtime.CodeTimeout, Message: "the run took too long"}
	case ctx.Err() != nil:
		return runtime.Outcome{Kind: runtime.Killed, Cause: cause}
	case errors.Is(err, errCancelled):
		return runtime.Outcome{Kind: runtime.Cancelled, Message: "the run was cancelled"}
	case errors.Is(err, maintain.ErrStopped):
		return runtime.Outcome{Kind: runtime.Yielded}
	case errors.Is(err, maintain.ErrHalt):
		return runtime.Outcome{Kind: runtime.Killed, Cause: runtime.ErrKilledLease}
	}
	return failedRun(err.Error())
}

func failedRun(message string) runtime.Outcome {
	return runtime.Outcome{Kind: runtime.Failed, Class: runtime.ClassGuest, Code: codeMaintenance, Message: message}
}

// totals is the result of a run: its record has the details.
func totals(rec *task.MaintenanceRun) []byte {
	var sum struct {
		DryRun   bool  `json:"dry_run"`
		Scanned  int64 `json:"scanned"`
		Retained int64 `json:"retained"`
		Newer    int64 `json:"newer"`
		Deleted  int64 `json:"deleted"`
	}
	sum.DryRun = rec.DryRun
	for i := range rec.Objects {
		o := &rec.Objects[i]
		sum.Scanned += o.Scanned
		sum.Retained += o.Retained
		sum.Newer += o.Newer
		sum.Deleted += o.Deleted
	}
	text, err := json.Marshal(sum)
	if err != nil {
		panic(err) // integers always marshal
	}
	return text
}

func summary(rec *task.MaintenanceRun) string {
	text := fmt.Sprintf("run %d: %s", rec.Run, totals(rec))
	if rec.Message != "" {
		text += ": " + rec.Message
	}
	return text
}

// maintainCluster is what a run reaches of the replicated state.
type maintainCluster struct{ n *Node }

var _ maintain.Cluster = maintainCluster{}

// Local implements maintain.Cluster.
func (c maintainCluster) Local(fn func(*task.Machine)) { c.n.store.Local(fn) }

// CatchUp implements maintain.Cluster.
func (c maintainCluster) CatchUp(ctx context.Context) error {
	return raftstore.Persist(ctx, func() error { return c.n.store.Read(ctx, func(*task.Machine) {}) })
}

// Propose implements maintain.Cluster. All commands of a run may be applied twice: the second time finds nothing to do.
func (c maintainCluster) Propose(ctx context.Context, cmd task.Command) (r task.Result, err error) {
	err = raftstore.Persist(ctx, func() error {
		rs, err := c.n.store.Propose(ctx, cmd)
		if err != nil {
			return err
		}
		r = rs[0]
		// What the run reads next is here by then.
		return c.n.store.WaitIndex(ctx, r.Index)
	})
	return r, err
}

// nodeDisks shows a run what the members keep, this one and the others.
type nodeDisks struct{ n *Node }

var _ maintain.Disks = nodeDisks{}

// Members implements maintain.Disks.
func (d nodeDisks) Members() []string {
	ids := []string{d.n.cfg.ID}
	for _, m := range d.n.others(d.n.store.Status()) {
		ids = append(ids, m.ID)
	}
	return ids
}

// errNoMember: the cluster has changed since the run asked who is in it.
var errNoMember = fmt.Errorf("%w: no address of it is known", maintain.ErrUnreachable)

// ask asks another member.
func (d nodeDisks) ask(ctx context.Context, member string, q peerRequest) (*peerReply, error) {
	for _, m := range d.n.others(d.n.store.Status()) {
		if m.ID == member && m.Addr != "" {
			r, err := d.n.peers.ask(ctx, m.Addr, q)
			if err != nil && !answered(err) {
				err = fmt.Errorf("%w: %w", maintain.ErrUnreachable, err)
			}
			return r, err
		}
	}
	return nil, errNoMember
}

// Files implements maintain.Disks.
func (d nodeDisks) Files(ctx context.Context, member string, what maintain.Area, after string, limit int) ([]maintain.File, error) {
	if member == d.n.cfg.ID {
		return d.n.filesHere(what, after, limit)
	}
	r, err := d.ask(ctx, member, peerRequest{Op: opFiles, Area: what, After: after, Limit: limit})
	if err != nil {
		return nil, err
	}
	return r.Files, nil
}

// DropLogs implements maintain.Disks.
func (d nodeDisks) DropLogs(ctx context.Context, member string, token uint64, before task.Time, names []string) (int64, error) {
	if member == d.n.cfg.ID {
		return d.n.dropLogsHere(token, before, names)
	}
	r, err := d.ask(ctx, member, peerRequest{Op: opDropLogs, Token: token, Before: before, Names: names})
	if err != nil {
		return 0, err
	}
	return r.Dropped, nil
}

// foreignFile is the kind of what lies among a node's files and is none of them: it is counted, and stays.
const foreignFile = "unknown"

// maxFiles bounds a page of files.
const maxFiles = 10_000

// filesHere lists what this node keeps.
func (n *Node) filesHere(what maintain.Area, after string, limit int) ([]maintain.File, error) {
	limit = min(max(limit, 0), maxFiles)
	fs := []maintain.File{}
	add := func(name string, modified time.Time, foreign bool) {
		f := maintain.File{Name: name, Modified: task.Time(max(modified.UnixMilli(), 1))}
		if foreign {
			f.Kind = foreignFile
		}
		fs = append(fs, f)
	}
	switch what {
	case maintain.BlobFiles:
		page, err := n.files.Page(after, limit)
		for _, e := range page {
			add(e.Digest, e.Modified, e.Foreign)
		}
		return fs, err
	case maintain.LogFiles:
		page, err := n.logs.Page(after, limit)
		for _, e := range page {
			add(e.Name, e.Modified, e.Foreign)
		}
		return fs, err
	}
	return nil, fmt.Errorf("node: no area %.40s", what)
}

// dropLogsHere deletes logs for the run that has the token.
func (n *Node) dropLogsHere(token uint64, before task.Time, names []string) (int64, error) {
	alive := false
	n.store.Local(func(m *task.Machine) {
		t := m.Task(task.MaintenanceKey())
		alive = t != nil && t.Lease != nil && t.Lease.Token == token
	})
	if !alive {
		return 0, maintain.ErrHalt
	}
	return n.logs.DropBefore(names, time.UnixMilli(int64(before)))
}
