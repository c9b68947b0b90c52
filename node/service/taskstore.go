package service

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/node/view"
	"github.com/taskrt/taskrt/task"
)

var _ api.TaskStore = (*Service)(nil)

// StoreGroups implements api.Service.
func (svc *Service) StoreGroups(ctx context.Context, namespace string) (names []string, err error) {
	if err := api.CheckNamespace(&namespace); err != nil {
		return nil, err
	}
	err = svc.readNamespace(ctx, &namespace, func(m *task.Machine) { names = m.StoreGroups(namespace) })
	return names, err
}

// StoreTasks implements api.Service.
func (svc *Service) StoreTasks(ctx context.Context, namespace string, ids []uint64) (api.StoreList, error) {
	if err := api.CheckStoreIDs(&namespace, ids); err != nil {
		return nil, err
	}
	records, size := make([]*task.StoreRecord, len(ids)), int64(0)
	long := error(nil)
	err := svc.readNamespace(ctx, &namespace, func(m *task.Machine) {
		for i, id := range ids {
			if records[i] = m.StoreRecord(namespace, id); records[i] == nil {
				continue
			}
			if size += listBytes(records[i]); size > api.MaxStoreList {
				long = tooLong("ids", i)
				return
			}
		}
	})
	if err := firstError(err, long); err != nil {
		return nil, err
	}
	return svc.storeList(ctx, records)
}

// StoreGroup implements api.Service. This node's clock judges what is available, because the log's clock stands still
// while nothing is written.
func (svc *Service) StoreGroup(ctx context.Context, namespace, group string, limit int, owned bool) (api.StoreList, error) {
	if err := api.CheckStoreGroup(&namespace, group); err != nil {
		return nil, err
	}
	var records []*task.StoreRecord
	size, long := int64(0), error(nil)
	err := svc.readNamespace(ctx, &namespace, func(m *task.Machine) {
		at := max(m.Now(), task.Time(time.Now().UnixMilli()))
		for x := range m.StoreRecords(namespace, group, owned, at) {
			if size += listBytes(x); size > api.MaxStoreList {
				long = tooLong("limit", len(records))
				return
			}
			if records = append(records, x); len(records) == limit {
				return
			}
		}
	})
	if err := firstError(err, long); err != nil {
		return nil, err
	}
	return svc.storeList(ctx, records)
}

// StoreUpdate implements api.Service. If maintenance deletes a blob after it was stored and before it is referred to,
// the blob is stored again (SPEC M3).
func (svc *Service) StoreUpdate(ctx context.Context, r api.StoreUpdateRequest) (*api.StoreReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	for range maxRounds {
		cmd, err := svc.storeCommand(ctx, &r)
		if err != nil {
			return nil, err
		}
		res, err := svc.proposeStore(ctx, cmd)
		switch {
		case api.CodeOf(err) == api.CodeBlobGone:
			continue
		case err != nil:
			return nil, err
		case res.Refusal != nil:
			return refusedStore(res.Refusal), nil
		}
		reply := &api.StoreReply{Tasks: make([]*api.StoreTask, len(res.Records))}
		for i, x := range res.Records { // first the adds, then the changes; the request has brought their data
			reply.Tasks[i] = storeTask(x)
			if a := i - len(r.Adds); a < 0 {
				reply.Tasks[i].Data = r.Adds[i].Data
			} else {
				reply.Tasks[i].Data = r.Updates[a].Data
			}
		}
		return reply, nil
	}
	return nil, errKeepsChanging()
}

// StoreClaim implements api.Service.
func (svc *Service) StoreClaim(ctx context.Context, r api.StoreClaimRequest) (*api.StoreReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	var seed [8]byte
	_, _ = rand.Read(seed[:]) // never fails
	res, err := svc.proposeStore(ctx, task.StoreClaim{
		Namespace: r.Namespace, Client: r.ClientID, Group: r.Group, Duration: task.Millis(api.MillisUp(r.Duration)),
		Depends: r.Depends, Seed: binary.LittleEndian.Uint64(seed[:]),
	})
	switch {
	case err != nil:
		return nil, err
	case res.Refusal != nil:
		return refusedStore(res.Refusal), nil
	}
	room := contents{svc: svc, room: svc.listed}
	defer room.release()
	if err := room.take(ctx, largest(res.Records)); err != nil {
		return nil, err
	}
	reply := &api.StoreReply{Tasks: make([]*api.StoreTask, len(res.Records))}
	for i, x := range res.Records {
		if reply.Tasks[i], err = svc.shownRecord(ctx, x); err != nil {
			return nil, err // the record is claimed all the same, until its time is over
		}
	}
	return reply, nil
}

// proposeStore proposes a command of the TaskStore API. Records that are missing, or that another client owns, are an
// answer, not an error.
func (svc *Service) proposeStore(ctx context.Context, cmd task.Command) (*task.Result, error) {
	rs, err := svc.propose(ctx, cmd)
	if err != nil {
		return nil, err
	}
	r := &rs[0]
	if r.Code == task.StoreConflict {
		return r, nil
	}
	if e := view.Refusal(r); e != nil {
		return nil, e
	}
	return r, nil
}

func refusedStore(no *task.StoreRefusal) *api.StoreReply {
	return &api.StoreReply{Errors: &api.StoreErrors{Changes: no.Changes, Deletes: no.Deletes, Depends: no.Depends, Owned: no.Owned}}
}
