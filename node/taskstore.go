package node

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/task"
)

var _ api.TaskStore = (*Node)(nil)

// readStore is read in a namespace that must be there.
func (n *Node) readStore(ctx context.Context, namespace string, fn func(*task.Machine)) error {
	missing := error(nil)
	err := n.read(ctx, readOptions{}, func(m *task.Machine) {
		if !m.NamespaceExists(namespace) {
			missing = api.FieldError(string(task.NamespaceNotFound), "namespace", "no namespace %s", namespace)
			return
		}
		fn(m)
	})
	return firstError(err, missing)
}

// StoreGroups implements api.Service.
func (n *Node) StoreGroups(ctx context.Context, namespace string) (names []string, err error) {
	if err := api.CheckStoreNamespace(&namespace); err != nil {
		return nil, err
	}
	err = n.readStore(ctx, namespace, func(m *task.Machine) { names = m.StoreGroups(namespace) })
	return names, err
}

// StoreTasks implements api.Service.
func (n *Node) StoreTasks(ctx context.Context, namespace string, ids []uint64) ([]*api.StoreTask, error) {
	if err := api.CheckStoreIDs(&namespace, ids); err != nil {
		return nil, err
	}
	records := make([]*task.StoreRecord, len(ids))
	err := n.readStore(ctx, namespace, func(m *task.Machine) {
		for i, id := range ids {
			records[i] = m.StoreRecord(namespace, id)
		}
	})
	if err != nil {
		return nil, err
	}
	return storeTasks(records), nil
}

// StoreGroup implements api.Service. What is available is judged by this node's clock: the log's stands still while
// nothing is written.
func (n *Node) StoreGroup(ctx context.Context, namespace, group string, limit int, owned bool) ([]*api.StoreTask, error) {
	if err := api.CheckStoreGroup(&namespace, group); err != nil {
		return nil, err
	}
	var records []*task.StoreRecord
	err := n.readStore(ctx, namespace, func(m *task.Machine) {
		at := max(m.Now(), task.Time(time.Now().UnixMilli()))
		records = m.StoreGroup(namespace, group, limit, owned, at)
	})
	if err != nil {
		return nil, err
	}
	return storeTasks(records), nil
}

// StoreUpdate implements api.Service.
func (n *Node) StoreUpdate(ctx context.Context, r api.StoreUpdateRequest) (*api.StoreReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	cmd := task.StoreUpdate{Namespace: r.Namespace, Client: r.ClientID, Deletes: r.Deletes, Depends: r.Depends}
	for _, x := range r.Adds {
		cmd.Adds = append(cmd.Adds, task.StoreAdd{Group: x.Group, Data: x.Data, Available: task.Time(x.Timespec)})
	}
	for _, x := range r.Updates {
		cmd.Changes = append(cmd.Changes, task.StoreChange{ID: x.ID, Data: x.Data, Available: task.Time(x.Timespec)})
	}
	return n.proposeStore(ctx, cmd)
}

// StoreClaim implements api.Service.
func (n *Node) StoreClaim(ctx context.Context, r api.StoreClaimRequest) (*api.StoreReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	var seed [8]byte
	_, _ = rand.Read(seed[:]) // never fails
	return n.proposeStore(ctx, task.StoreClaim{
		Namespace: r.Namespace, Client: r.ClientID, Group: r.Group, Duration: task.Millis(api.MillisUp(r.Duration)),
		Depends: r.Depends, Seed: binary.LittleEndian.Uint64(seed[:]),
	})
}

// proposeStore proposes a command of the TaskStore API. What is missing or owned by another is an answer, not an error.
func (n *Node) proposeStore(ctx context.Context, cmd task.Command) (*api.StoreReply, error) {
	rs, err := n.propose(ctx, cmd)
	if err != nil {
		return nil, err
	}
	r := &rs[0]
	if r.Code == task.StoreConflict {
		no := r.Refusal
		return &api.StoreReply{Errors: &api.StoreErrors{
			Changes: no.Changes, Deletes: no.Deletes, Depends: no.Depends, Owned: no.Owned,
		}}, nil
	}
	if e := resultError(r); e != nil {
		return nil, e
	}
	return &api.StoreReply{Tasks: storeTasks(r.Records)}, nil
}

// storeTasks shows records; nil for nil.
func storeTasks(records []*task.StoreRecord) []*api.StoreTask {
	tasks := make([]*api.StoreTask, len(records))
	for i, r := range records {
		if r != nil {
			at := int64(r.Available)
			tasks[i] = &api.StoreTask{ID: r.ID, Group: r.Group, Data: r.Data, Timespec: at, Duration: at, OwnerID: r.Owner}
		}
	}
	return tasks
}
