package service

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/node/view"
	"github.com/taskrt/taskrt/task"
)

// Data of records on its way into the log and back (SPEC X2). Data that is too long for the log is kept as blobs. When
// an answer needs them they are read again, one record at a time.

// maxListed bounds the data of records, in bytes, that is in memory to be written into answers.
const maxListed = 8 * api.MaxStoreData

// storePuts is how many blobs of one update are stored at the same time.
const storePuts = 8

// storePart is the data of one record that an update brings.
type storePart struct {
	data *string
	blob *task.Payload
}

// storeCommand makes the command of an update. Data that is too long for the log is a blob in it, which a majority has
// stored.
func (svc *Service) storeCommand(ctx context.Context, r *api.StoreUpdateRequest) (task.StoreUpdate, error) {
	cmd := task.StoreUpdate{
		Namespace: r.Namespace, Client: r.ClientID, Deletes: r.Deletes, Depends: r.Depends,
		Adds: make([]task.StoreAdd, len(r.Adds)), Changes: make([]task.StoreChange, len(r.Updates)),
	}
	parts := make([]storePart, 0, len(r.Adds)+len(r.Updates))
	for i, x := range r.Adds {
		a := &cmd.Adds[i]
		*a = task.StoreAdd{Group: x.Group, Data: x.Data, Available: task.Time(x.Timespec)}
		parts = append(parts, storePart{&a.Data, &a.Blob})
	}
	for i, x := range r.Updates {
		c := &cmd.Changes[i]
		*c = task.StoreChange{ID: x.ID, Data: x.Data, Available: task.Time(x.Timespec)}
		parts = append(parts, storePart{&c.Data, &c.Blob})
	}
	return cmd, svc.storeBlobs(ctx, longest(parts, r))
}

// longest returns the parts whose data cannot be in the log: all parts longer than a record may hold inline, and as many of the next longest as must
// go for the rest to fit. api.StoreUpdateRequest.Check has made sure that they can fit.
func longest(parts []storePart, r *api.StoreUpdateRequest) []storePart {
	slices.SortStableFunc(parts, func(a, b storePart) int { return cmp.Compare(len(*b.data), len(*a.data)) })
	size, i := r.LogBytes(api.MaxInline), 0
	for ; i < len(parts); i++ {
		n := len(*parts[i].data)
		if n > api.MaxInline {
			continue // LogBytes has counted it as a blob
		}
		if size <= api.MaxStoreBytes || n <= api.StoreBlobBytes {
			break
		}
		size -= n - api.StoreBlobBytes
	}
	return parts[:i]
}

// storeBlobs stores the data of parts as blobs, and lets the command refer to them.
func (svc *Service) storeBlobs(ctx context.Context, parts []storePart) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(storePuts)
	for _, p := range parts {
		g.Go(func() error {
			digest, err := svc.PutPayload(ctx, []byte(*p.data))
			if err != nil {
				return err
			}
			*p.blob = task.Payload{Encoding: task.Bytes, Blobs: &task.Blobs{Content: digest, Size: int64(len(*p.data))}}
			*p.data = ""
			return nil
		})
	}
	return g.Wait()
}

// listBytes is how many bytes a record counts in a list.
func listBytes(x *task.StoreRecord) int64 {
	return api.StoreRecordBytes + int64(len(x.Group)) + x.Len()
}

// tooLong is the answer to a request for more than a list takes.
func tooLong(field string, read int) error {
	return api.LimitError(field, api.MaxStoreList, "more than %d bytes of records; %d are less", int64(api.MaxStoreList), read)
}

// storeList makes a list of records that are read one after the other. When it returns, the blobs among them are on
// this node's disk, so that hardly anything can go wrong once an answer has begun.
func (svc *Service) storeList(ctx context.Context, records []*task.StoreRecord) (api.StoreList, error) {
	for _, x := range records {
		if x == nil || x.Blob.Blobs == nil || svc.files.Has(x.Blob.Blobs.Content) {
			continue
		}
		f, err := svc.files.Open(ctx, x.Blob.Blobs.Content)
		if err != nil {
			return nil, dataError(x, unread(x.Blob.Blobs.Content, err))
		}
		_ = f.Close() // the file is here now
	}
	return func(yield func(*api.StoreTask, error) bool) {
		room := contents{svc: svc, room: svc.listed}
		defer room.release()
		if err := room.take(ctx, largest(records)); err != nil {
			yield(nil, err)
			return
		}
		for _, x := range records {
			t, err := svc.shownRecord(ctx, x)
			if !yield(t, err) || err != nil {
				return
			}
		}
	}, nil
}

// largest returns the size of the largest blob among records.
func largest(records []*task.StoreRecord) (most int64) {
	for _, x := range records {
		if x != nil && x.Blob.Blobs != nil {
			most = max(most, x.Blob.Blobs.Size)
		}
	}
	return most
}

// shownRecord shows a record with its data. It returns nil for nil.
func (svc *Service) shownRecord(ctx context.Context, x *task.StoreRecord) (t *api.StoreTask, err error) {
	if x == nil {
		return nil, nil
	}
	t = storeTask(x)
	if x.Blob.Blobs != nil {
		t.Data, err = svc.storeData(ctx, x)
	}
	return t, err
}

// storeData reads the data of a record whose data is a blob.
func (svc *Service) storeData(ctx context.Context, x *task.StoreRecord) (string, error) {
	data, err := svc.readWhole(ctx, x.Blob.Blobs.Content, x.Blob.Blobs.Size)
	if err != nil {
		return "", dataError(x, err)
	}
	return string(data), nil
}

func dataError(x *task.StoreRecord, err error) error {
	e := *view.Error(err)
	e.Detail = fmt.Sprintf("the data of record %d: %s", x.ID, e.Detail)
	return &e
}

// storeTask shows a record, without data that is a blob.
func storeTask(x *task.StoreRecord) *api.StoreTask {
	at := int64(x.Available)
	return &api.StoreTask{ID: x.ID, Group: x.Group, Data: x.Data, Timespec: at, Duration: at, OwnerID: x.Owner}
}
