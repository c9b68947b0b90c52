package apitest

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/spaces"
	"github.com/taskrt/taskrt/task"
)

var _ api.TaskStore = (*Fake)(nil)

// readStore reads the records of a namespace.
func (f *Fake) readStore(ctx context.Context, bad error, namespace string, read func(*task.Machine) []*task.StoreRecord) ([]*api.StoreTask, error) {
	if bad != nil {
		return nil, bad
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.machine.NamespaceExists(namespace) {
		return nil, spaces.Unknown(namespace)
	}
	api.SetIndex(ctx, f.index)
	return showRecords(read(f.machine)), nil
}

// StoreGroups implements api.Service.
func (f *Fake) StoreGroups(ctx context.Context, namespace string) (names []string, err error) {
	bad := api.CheckNamespace(&namespace)
	_, err = f.readStore(ctx, bad, namespace, func(m *task.Machine) []*task.StoreRecord {
		names = m.StoreGroups(namespace)
		return nil
	})
	return names, err
}

// StoreTasks implements api.Service.
func (f *Fake) StoreTasks(ctx context.Context, namespace string, ids []uint64) (api.StoreList, error) {
	bad := api.CheckStoreIDs(&namespace, ids)
	return listed(f.readStore(ctx, bad, namespace, func(m *task.Machine) []*task.StoreRecord {
		rs := make([]*task.StoreRecord, len(ids))
		for i, id := range ids {
			rs[i] = m.StoreRecord(namespace, id)
		}
		return rs
	}))
}

func listed(tasks []*api.StoreTask, err error) (api.StoreList, error) {
	return api.ListStore(tasks), err
}

// StoreGroup implements api.Service.
func (f *Fake) StoreGroup(ctx context.Context, namespace, group string, limit int, owned bool) (api.StoreList, error) {
	bad := api.CheckStoreGroup(&namespace, group)
	return listed(f.readStore(ctx, bad, namespace, func(m *task.Machine) []*task.StoreRecord {
		return m.StoreGroup(namespace, group, limit, owned, task.Time(time.Now().UnixMilli()))
	}))
}

// StoreUpdate implements api.Service.
func (f *Fake) StoreUpdate(ctx context.Context, r api.StoreUpdateRequest) (*api.StoreReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	c := task.StoreUpdate{Namespace: r.Namespace, Client: r.ClientID, Deletes: r.Deletes, Depends: r.Depends}
	for _, x := range r.Adds {
		c.Adds = append(c.Adds, task.StoreAdd{Group: x.Group, Data: x.Data, Available: task.Time(x.Timespec)})
	}
	for _, x := range r.Updates {
		c.Changes = append(c.Changes, task.StoreChange{ID: x.ID, Data: x.Data, Available: task.Time(x.Timespec)})
	}
	return f.proposeStore(ctx, c)
}

// StoreClaim implements api.Service.
func (f *Fake) StoreClaim(ctx context.Context, r api.StoreClaimRequest) (*api.StoreReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	return f.proposeStore(ctx, task.StoreClaim{
		Namespace: r.Namespace, Client: r.ClientID, Group: r.Group, Duration: task.Millis(api.MillisUp(r.Duration)),
		Depends: r.Depends, Seed: rand.Uint64(),
	})
}

func (f *Fake) proposeStore(ctx context.Context, c task.Command) (*api.StoreReply, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, err := f.propose(ctx, c)
	switch no := r.Refusal; {
	case r.Code == task.StoreConflict:
		return &api.StoreReply{Errors: &api.StoreErrors{
			Changes: no.Changes, Deletes: no.Deletes, Depends: no.Depends, Owned: no.Owned,
		}}, nil
	case err != nil:
		return nil, err
	}
	return &api.StoreReply{Tasks: showRecords(r.Records)}, nil
}

func showRecords(records []*task.StoreRecord) []*api.StoreTask {
	tasks := make([]*api.StoreTask, len(records))
	for i, r := range records {
		if r != nil {
			at := int64(r.Available)
			tasks[i] = &api.StoreTask{ID: r.ID, Group: r.Group, Data: r.Data, Timespec: at, Duration: at, OwnerID: r.Owner}
		}
	}
	return tasks
}
