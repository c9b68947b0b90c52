package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/blob"
	"github.com/taskrt/taskrt/node/view"
	"github.com/taskrt/taskrt/raftstore"
	"github.com/taskrt/taskrt/task"
)

// putRounds bounds how often a file is put again because maintenance dropped its record meanwhile.
const putRounds = 5

// putTimeout bounds how long a put waits for a leader and a majority before it ends with an error.
const putTimeout = time.Minute

// Put stores a file on a majority of the voters: it notes the file, writes it everywhere, and notes that it is ready.
// From then on commands may refer to it. A file that is ready already is only noted once more, so that maintenance
// takes it for new (SPEC M3).
func (f *Files) Put(ctx context.Context, b *blob.Staged) error { return f.uploader().store(ctx, b) }

// Note proposes a note of a file.
func (f *Files) Note(ctx context.Context, note task.NoteBlob) (task.Result, error) {
	return f.uploader().note(ctx, note)
}

// Stage writes what r brings to this disk, where Put takes it from.
func (f *Files) Stage(ctx context.Context, r io.Reader) (*blob.Staged, error) {
	return f.disk.Stage(ctx, r)
}

// StageBytes is Stage for bytes in memory.
func (f *Files) StageBytes(data []byte) (*blob.Staged, error) { return f.disk.StageBytes(data) }

func (f *Files) uploader() *uploader {
	return &uploader{blobs: f.disk, propose: f.state.Propose, wait: f.state.WaitIndex, local: f.state.Local, voters: f.voters}
}

// uploader stores files through this node.
type uploader struct {
	blobs   *blob.Store
	propose func(context.Context, ...task.Command) ([]task.Result, error)
	wait    func(ctx context.Context, index uint64) error // returns once this node has applied the log up to index
	local   func(func(*task.Machine))
	voters  func() blob.Spread
}

func (u *uploader) store(ctx context.Context, b *blob.Staged) error {
	ctx, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	for range putRounds {
		dropped, err := u.storeOnce(ctx, b)
		if err != nil || !dropped {
			return err
		}
	}
	return fmt.Errorf("%w: its record was dropped %d times while it was written", blob.ErrTooFew, putRounds)
}

// storeOnce is one round. dropped says that the record went while the file was written; the files may have gone with
// it.
func (u *uploader) storeOnce(ctx context.Context, b *blob.Staged) (dropped bool, err error) {
	noted, err := u.note(ctx, task.NoteBlob{Digest: b.Digest, Size: b.Size})
	if err != nil {
		return false, err
	}
	if err := u.wait(ctx, noted.Index); err != nil {
		return false, err
	}
	var row *task.Blob
	u.local(func(m *task.Machine) { row = m.Blob(b.Digest) })
	if row == nil {
		return true, nil
	}
	if row.Ready && u.blobs.VerifyNow(b.Digest) == nil {
		return false, nil
	}
	to := u.voters()
	to.Index = noted.Index
	if err := u.blobs.Spread(ctx, b, to); err != nil || row.Ready {
		return false, err
	}
	_, err = u.note(ctx, task.NoteBlob{Digest: b.Digest, Size: b.Size, Ready: true, Since: noted.Index})
	if api.CodeOf(err) == string(task.BlobGone) {
		return true, nil
	}
	return false, err
}

// note proposes a note, but not under the client's idempotency key: the key is for what the client asked. To note twice
// is to note once.
func (u *uploader) note(ctx context.Context, note task.NoteBlob) (task.Result, error) {
	for {
		rs, err := u.propose(ctx, note)
		if errors.Is(err, raftstore.ErrOutcomeUnknown) && ctx.Err() == nil {
			continue
		}
		if err != nil {
			return task.Result{}, err
		}
		return view.Accepted(&rs[0])
	}
}

// voters says where a file must be written so that a majority of the voters has it.
func (f *Files) voters() (to blob.Spread) {
	voters, st := 0, f.state.Status()
	for _, m := range st.Members {
		switch {
		case !m.Voter:
			continue
		case m.ID == st.ID:
			to.Self = true
		case m.Addr != "":
			to.Peers = append(to.Peers, m.Addr)
		}
		voters++
	}
	to.Need = voters/2 + 1
	return to
}
