package node

import (
	"context"
	"fmt"

	"github.com/taskrt/taskrt/node/maintain"
	"github.com/taskrt/taskrt/node/maintain/native"
	"github.com/taskrt/taskrt/node/peers"
	"github.com/taskrt/taskrt/node/scheduled"
	"github.com/taskrt/taskrt/raftstore"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker"
)

// native returns the behaviors that are built into this node's worker.
func (n *Node) native() map[string]worker.Guest {
	all := map[string]worker.Guest{task.NativeMaintenance: native.Guest{
		Config: n.cfg.Maintenance, Cluster: native.Cluster{Store: n.store}, Disks: nodeDisks{n}, Now: n.cfg.Clock.Wall,
	}}
	if n.cfg.Backups.Target != nil {
		all[scheduled.Native] = scheduled.Guest{
			Config: n.cfg.Backups, Store: persistent{n.store}, Saver: n.saver, Node: n.cfg.ID, Cluster: n.store.Cluster,
			Members: func() int { return 1 + len(n.store.Status().Others()) }, Now: n.cfg.Clock.Wall, Logger: n.cfg.Logger, Failures: &n.backupFailures,
		}
	}
	return all
}

// persistent is the store for a run of a native behavior: it tries until it has an answer, or ctx ends.
type persistent struct{ *raftstore.Store }

// Propose implements scheduled.Store.
func (p persistent) Propose(ctx context.Context, cmds ...task.Command) (rs []task.Result, err error) {
	err = raftstore.Persist(ctx, func() error { rs, err = p.Store.Propose(ctx, cmds...); return err })
	return rs, err
}

// Read implements scheduled.Store.
func (p persistent) Read(ctx context.Context, fn func(*task.Machine)) error {
	return raftstore.Persist(ctx, func() error { return p.Store.Read(ctx, fn) })
}

// disk is what this node keeps on its disk, as a run of maintenance sees it.
func (n *Node) disk() native.Disk {
	return native.Disk{Blobs: n.files, Logs: n.logs, Local: n.store.Local}
}

// nodeDisks shows a run of maintenance what all members keep on their disks, this node included.
type nodeDisks struct{ n *Node }

var _ maintain.Disks = nodeDisks{}

// Members implements maintain.Disks.
func (d nodeDisks) Members() []string {
	ids := []string{d.n.cfg.ID}
	for _, m := range d.n.store.Status().Others() {
		ids = append(ids, m.ID)
	}
	return ids
}

// errNoMember says that the cluster has changed since the run asked for its members.
var errNoMember = fmt.Errorf("%w: no address of it is known", maintain.ErrUnreachable)

// ask asks another member.
func (d nodeDisks) ask(ctx context.Context, member string, q peers.Request) (*peers.Reply, error) {
	for _, m := range d.n.store.Status().Others() {
		if m.ID == member && m.Addr != "" {
			r, err := d.n.peers.Ask(ctx, m.Addr, q)
			if err != nil && !peers.Answered(err) {
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
		return d.n.disk().Files(what, after, limit)
	}
	r, err := d.ask(ctx, member, peers.Request{Op: peers.OpFiles, Area: what, After: after, Limit: limit})
	if err != nil {
		return nil, err
	}
	return r.Files, nil
}

// DropLogs implements maintain.Disks.
func (d nodeDisks) DropLogs(ctx context.Context, member string, token uint64, before task.Time, names []string) (int64, error) {
	if member == d.n.cfg.ID {
		return d.n.disk().DropLogs(token, before, names)
	}
	r, err := d.ask(ctx, member, peers.Request{Op: peers.OpDropLogs, Token: token, Before: before, Names: names})
	if err != nil {
		return 0, err
	}
	return r.Dropped, nil
}
