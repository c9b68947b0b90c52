// Package refound makes another cluster of what a directory has (SPEC C2).
package refound

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/internal/durable"
	"github.com/taskrt/taskrt/raftstore/home"
	"github.com/taskrt/taskrt/raftstore/logstore"
	"github.com/taskrt/taskrt/raftstore/members"
	"github.com/taskrt/taskrt/raftstore/snapfile"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/roster"
	"github.com/taskrt/taskrt/task/wire"
)

// Dir is the directory of a node's log and snapshots while no server has it.
type Dir struct {
	path  string
	lock  *os.File // closed with log
	log   logstore.Store
	snaps raft.SnapshotStore
}

// State is what a directory has.
type State struct {
	Node    string // its ID
	Cluster string // the cluster's ID

	Index, Term uint64        // of the last entry
	Behind      uint64        // entries behind the newest snapshot
	Members     []raft.Server // of the last configuration
	Machine     *task.Machine // after the last entry
}

// Open opens the directory of an existing node. It fails if a process has it.
func Open(path string) (*Dir, error) {
	kind, err := logstore.Find(path)
	if err == nil && kind == "" {
		err = &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	if err != nil {
		return nil, err
	}
	return open(path, kind)
}

// Create makes the directory of a new node.
func Create(path string, kind logstore.Kind) (*Dir, error) {
	if found, err := logstore.Find(path); err != nil || found != "" {
		return nil, errors.Join(fmt.Errorf("%s has a node already: restore into an empty directory", path), err)
	}
	if err := durable.MkdirAll(path); err != nil {
		return nil, err
	}
	return open(path, kind)
}

func open(path string, kind logstore.Kind) (*Dir, error) {
	lock, err := logstore.Lock(path)
	if err != nil {
		return nil, err
	}
	d := &Dir{path: path, lock: lock}
	if d.log, err = logstore.Open(path, kind, logstore.Options{Lock: lock}); err != nil {
		return nil, err
	}
	if d.snaps, err = raft.NewFileSnapshotStoreWithLogger(path, keptSnapshots, hclog.NewNullLogger()); err != nil {
		return nil, errors.Join(err, d.log.Close())
	}
	return d, nil
}

// keptSnapshots is how many snapshots a directory keeps.
const keptSnapshots = 2

// Close lets go of the directory.
func (d *Dir) Close() error { return d.log.Close() }

// Look reads what the directory has: the newest snapshot that can be read, and all entries behind it.
func (d *Dir) Look() (*State, error) {
	s := &State{Machine: task.NewMachine()}
	var err error
	if s.Node, s.Cluster, err = members.Identify(d.path); err != nil {
		return nil, err
	}
	if err := d.restore(s); err != nil {
		return nil, err
	}
	snapshot := s.Index
	last, err := d.log.LastIndex()
	if err != nil {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	for i := s.Index + 1; i <= last; i++ {
		var e raft.Log
		if err := d.log.GetLog(i, &e); err != nil {
			return nil, fmt.Errorf("the log is incomplete: entry %d of %d: %w", i, last, err)
		}
		if err := s.apply(&e); err != nil {
			return nil, fmt.Errorf("entry %d: %w", i, err)
		}
	}
	s.Behind = s.Index - snapshot
	if s.Index == 0 {
		return nil, errors.New("there is nothing in it: this node never belonged to a cluster")
	}
	return s, nil
}

// restore takes the newest snapshot that can be read. If none can, the log must have everything.
func (d *Dir) restore(s *State) error {
	metas, err := d.snaps.List()
	if err != nil {
		return fmt.Errorf("list snapshots: %w", err)
	}
	for _, meta := range metas {
		_, r, failed := d.snaps.Open(meta.ID)
		if failed == nil {
			var m *task.Machine
			_, m, failed = snapfile.Read(r)
			_ = r.Close()
			if failed == nil {
				s.Machine, s.Index, s.Term, s.Members = m, meta.Index, meta.Term, meta.Configuration.Servers
				return nil
			}
		}
		err = errors.Join(err, fmt.Errorf("snapshot %s: %w", meta.ID, failed))
	}
	first, failed := d.log.FirstIndex()
	if failed == nil && first <= 1 && len(metas) == 0 {
		return nil
	}
	return errors.Join(errors.New("no snapshot can be read"), err, failed)
}

// apply applies an entry of the log.
func (s *State) apply(e *raft.Log) (err error) {
	s.Index, s.Term = e.Index, e.Term
	switch e.Type {
	case raft.LogConfiguration:
		s.Members = raft.DecodeConfiguration(e.Data).Servers
		return nil
	case raft.LogCommand:
	default:
		return nil
	}
	h, ps, err := wire.DecodeEntry(e.Data)
	if err != nil {
		return err
	}
	h.Index, h.Term = e.Index, e.Term
	_, err = applied(s.Machine, h, ps)
	return err
}

// applied applies an entry. A machine that panics is worth nothing any more.
func applied(m *task.Machine, h task.Header, ps []task.Proposal) (results []task.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v\n%s", p, debug.Stack())
		}
	}()
	results, _ = m.Apply(h, ps)
	return results, nil
}

// Plan is the cluster that Found founds.
type Plan struct {
	Node       string   // the ID of its first node
	Cluster    string   // its ID: NewID
	Approve    []string // IDs of nodes that vote when they join with empty directories
	DropTokens bool     // access tokens are forgotten
	Command    string   // what is to be run again when it is interrupted
}

// NewID draws the ID of a cluster.
func NewID() string { return members.Draw() }

// Found turns the directory into that of the first and only node of another cluster, which begins with the state. The state is used up.
func (d *Dir) Found(s *State, p Plan) error {
	term, err := d.log.GetUint64(currentTerm)
	if err != nil && err.Error() != "not found" {
		return fmt.Errorf("read the term: %w", err)
	}
	m, begun := s.Machine, task.Header{Index: s.Index + 1, Term: max(term, s.Term) + 1, Now: s.Machine.Now(), LeaseNow: s.Machine.LeaseNow()}
	results, err := applied(m, begun, p.proposals(m))
	if err != nil {
		return fmt.Errorf("found the cluster: %w", err)
	}
	for _, r := range results {
		if r.Code != task.OK {
			return fmt.Errorf("found the cluster: %s: %s", r.Field, r.Message)
		}
	}
	me, err := members.Rebegin(d.path, p.Node, p.Cluster, m.Level(), p.Command)
	if err != nil {
		return err
	}
	if err := d.log.SetUint64(currentTerm, begun.Term); err != nil {
		return fmt.Errorf("write the term: %w", err)
	}
	if err := d.snapshot(m, begun, me); err != nil {
		return err
	}
	if err := d.empty(); err != nil {
		return err
	}
	if err := home.Bind(d.path, d.lock); err != nil {
		return err
	}
	return members.Finish(d.path)
}

// currentTerm is the name of the library's variable.
var currentTerm = []byte("CurrentTerm")

// proposals are the first entry of the cluster.
func (p *Plan) proposals(m *task.Machine) (ps []task.Proposal) {
	for level := m.Level() + 1; level <= task.MembersLevel; level++ {
		ps = append(ps, task.Proposal{Command: task.RaiseLevel{Level: level}})
	}
	ps = append(ps, task.Proposal{Command: task.Refound{DropTokens: p.DropTokens}})
	for _, node := range append([]string{p.Node}, p.Approve...) {
		ps = append(ps, task.Proposal{Command: task.SetMember{Node: node, Vote: uint64(roster.Voter)}})
	}
	return ps
}

// snapshot writes the first snapshot of the cluster, and removes those of the former one.
func (d *Dir) snapshot(m *task.Machine, begun task.Header, me members.Peer) error {
	former, err := d.snaps.List()
	if err != nil {
		return fmt.Errorf("list snapshots: %w", err)
	}
	alone := raft.Configuration{Servers: []raft.Server{{Suffrage: raft.Voter, ID: raft.ServerID(me.ID), Address: raft.ServerAddress(me.Identity())}}}
	_, peers := raft.NewInmemTransport("") // it only writes addresses down
	sink, err := d.snaps.Create(raft.SnapshotVersionMax, begun.Index, begun.Term, alone, begun.Index, peers)
	if err != nil {
		return fmt.Errorf("write the snapshot: %w", err)
	}
	if err := snapfile.Write(sink, begun.Index, m.Freeze()); err != nil {
		return errors.Join(fmt.Errorf("write the snapshot: %w", err), sink.Cancel())
	}
	if err := sink.Close(); err != nil {
		return fmt.Errorf("write the snapshot: %w", err)
	}
	for _, meta := range former {
		if err := os.RemoveAll(filepath.Join(d.path, "snapshots", meta.ID)); err != nil {
			return fmt.Errorf("remove a former snapshot: %w", err)
		}
	}
	return nil
}

// empty removes the former cluster's log.
func (d *Dir) empty() error {
	first, err := d.log.FirstIndex()
	if err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	last, err := d.log.LastIndex()
	if err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	const chunk = 10_000
	for ; last > 0 && first <= last; first += chunk {
		if err := d.log.DeleteRange(first, min(first+chunk-1, last)); err != nil {
			return fmt.Errorf("remove the log: %w", err)
		}
	}
	return nil
}
