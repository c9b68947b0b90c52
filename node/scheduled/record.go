package scheduled

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/taskrt/taskrt/backup/series"
	"github.com/taskrt/taskrt/task"
)

// Record is what a cluster remembers of its backups, in the state: a record of the TaskStore API, in the group "backup" of the namespace _system.
type Record struct {
	Cluster string `json:"cluster"` // ID: a cluster that was made of a backup has none of its own yet
	Target  string `json:"target"`
	Marker  string `json:"marker"` // that was found or written there
	Token   uint64 `json:"token"`  // of the run that wrote this
	Last    *Last  `json:"last,omitempty"`
}

// Last is the last backup that was made.
type Last struct {
	Name      string    `json:"name"`
	Node      string    `json:"node"`
	Began     time.Time `json:"began"`
	Finished  time.Time `json:"finished"`
	Index     uint64    `json:"index"`
	Bytes     int64     `json:"bytes"` // of state, list and all blobs
	Blobs     int64     `json:"blobs"`
	New       int64     `json:"new_blobs"`
	NewBytes  int64     `json:"new_bytes"`
	Encrypted bool      `json:"encrypted"`
	Note      string    `json:"note,omitempty"` // what was not done behind it
}

// Group is the group of the record.
const Group = "backup"

// client owns the record. It is available to everybody at once: tokens say who may replace it.
const client = 1

// find returns the record of a cluster, and its ID; nil: there is none.
func find(m *task.Machine, cluster string) (*Record, uint64) {
	for x := range m.StoreRecords(task.SystemNamespace, Group, true, task.MaxTime) {
		r := &Record{}
		if err := json.Unmarshal([]byte(x.Data), r); err == nil && r.Cluster == cluster {
			return r, x.ID
		}
	}
	return nil, 0
}

// Recall returns what the state remembers; nil: nothing.
func Recall(m *task.Machine, cluster string) *Record {
	r, _ := find(m, cluster)
	return r
}

// ErrOther says that a target is not where the cluster's backups are.
var ErrOther = errors.New("this is another place than that of the backups before")

// prove makes sure that all nodes have the same target as this node, and marks it. exclusive is Series.Mark's.
func (r *run) prove(ctx context.Context, s series.Series) (exclusive bool, err error) {
	var had *Record
	var wanted string
	err = r.Store.Read(ctx, func(m *task.Machine) {
		had = Recall(m, s.Cluster)
		if v := m.Version(task.SystemNamespace, Behavior, ""); v != nil {
			wanted = v.Policy.Description
		}
	})
	if err != nil {
		return false, err
	}
	if own := description(r.Config); wanted != own {
		return false, fmt.Errorf("node %s has --backup-to %s, and the behavior %q was set up by a leader that has another: give all nodes the same --backup-to", r.Node, r.Config.Target, wanted)
	}
	alone := r.Members() < 2
	there, err := s.Marker(ctx)
	if err != nil {
		return false, err
	}
	name := r.Config.Target.String()
	known := had != nil && had.Target == name && had.Marker != ""
	if known && had.Marker != there && !alone && !r.Config.Target.Shared() {
		found := "it has no marker"
		if there != "" {
			found = "its marker is " + there
		}
		by := "another node"
		if had.Last != nil {
			by = "node " + had.Last.Node
		}
		return false, fmt.Errorf("%w: --backup-to %s of node %s must be a directory that all nodes share, and backups went to one with the marker %s, "+
			"the last by %s; %s. If it was replaced for all nodes, write the marker: echo %s > %s/taskrt-%s/marker", ErrOther, name, r.Node, had.Marker, by, found, had.Marker, name, s.Cluster)
	}
	there, exclusive, err = s.Mark(ctx, r.random)
	if err != nil || known && had.Marker == there {
		return exclusive, err
	}
	next := Record{Cluster: s.Cluster, Target: name, Marker: there, Token: r.token}
	if had != nil {
		next.Last = had.Last
	}
	return exclusive, r.remember(ctx, next)
}

// errTaken says that a later run has written the record.
var errTaken = errors.New("a later run of the backup has taken over")

// remember replaces the record, unless a later run has.
func (r *run) remember(ctx context.Context, next Record) error {
	text, err := json.Marshal(next)
	if err != nil {
		return err
	}
	for range maxRounds {
		c := task.StoreUpdate{Namespace: task.SystemNamespace, Client: client}
		taken := false
		err := r.Store.Read(ctx, func(m *task.Machine) {
			had, id := find(m, next.Cluster)
			taken = had != nil && had.Token > next.Token
			if had != nil {
				c.Changes = []task.StoreChange{{ID: id, Data: string(text)}}
				return
			}
			c.Adds = []task.StoreAdd{{Group: Group, Data: string(text)}}
			for x := range m.StoreRecords(task.SystemNamespace, Group, true, task.MaxTime) {
				c.Deletes = append(c.Deletes, x.ID) // of the cluster that this one was made of
			}
		})
		if err != nil {
			return err
		}
		if taken {
			return errTaken
		}
		rs, err := r.Store.Propose(ctx, c)
		if err != nil {
			return err
		}
		switch rs[0].Code {
		case task.OK:
			return nil
		case task.StoreConflict:
		default:
			return fmt.Errorf("the record of the backups is not taken: %s: %s", rs[0].Code, rs[0].Message)
		}
	}
	return errTaken
}

const maxRounds = 10
