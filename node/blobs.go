package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/blob"
	"github.com/taskrt/taskrt/node/view"
	"github.com/taskrt/taskrt/raftstore"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker"
)

func (n *Node) blobConfig() blob.Config {
	return blob.Config{
		Dir: filepath.Join(n.cfg.Dir, "blobs"), Net: n.cfg.Net, Logger: n.cfg.Logger, Create: n.cfg.CreateBlob,
		Applied:   func(ctx context.Context, index uint64) error { return n.store.WaitIndex(ctx, index) },
		PutFor:    n.storeBlob,
		OnCorrupt: func(digest string) { n.keeper.lost(digest) },
	}
}

// PutBlob implements api.Service: the file is staged on this node's disk, then stored like any other.
func (n *Node) PutBlob(ctx context.Context, r api.PutBlobRequest) (*api.Blob, error) {
	want, err := r.Check()
	if err != nil {
		return nil, err
	}
	body := &upload{r: r.Body}
	b, err := n.blobs.Stage(ctx, body)
	if err != nil {
		return nil, firstError(body.problem(), blobError(err))
	}
	defer b.Close()
	if err := r.CheckContent(want, b.Digest, b.Size); err != nil {
		return nil, err
	}
	if err := n.putBlob(ctx, b); err != nil {
		return nil, err
	}
	reply := &api.Blob{Digest: api.ShowDigest(b.Digest), Size: b.Size}
	n.store.Local(func(m *task.Machine) {
		api.SetIndex(ctx, m.Index())
		if row := m.Blob(b.Digest); row != nil {
			reply.Refs = row.Refs
		}
	})
	return reply, nil
}

// upload tells errors of the client's from those of the disk.
type upload struct {
	r   io.Reader
	err error
}

// Read implements io.Reader.
func (u *upload) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		u.err = err
	}
	return n, err
}

func (u *upload) problem() error {
	if u.err == nil || api.CodeOf(u.err) != "" {
		return u.err
	}
	return api.NewError(api.CodeBadRequest, "the body could not be read: %v", u.err)
}

// Blob implements api.Service.
func (n *Node) Blob(ctx context.Context, digest string) (*api.Blob, error) {
	hex, err := api.ParseDigest("digest", digest)
	if err != nil {
		return nil, err
	}
	return n.readBlob(ctx, hex)
}

// readBlob describes a blob that commands may refer to.
func (n *Node) readBlob(ctx context.Context, hex string) (*api.Blob, error) {
	var row *task.Blob
	err := n.read(ctx, readOptions{}, func(m *task.Machine) { row = m.Blob(hex) })
	if err != nil {
		return nil, err
	}
	if row == nil || !row.Ready {
		return nil, api.NewError(api.CodeBlobNotFound, "no blob sha256:%s", hex)
	}
	return &api.Blob{Digest: api.ShowDigest(hex), Size: row.Size, Refs: row.Refs}, nil
}

// BlobContent implements api.Service.
func (n *Node) BlobContent(ctx context.Context, r api.BlobRange) (*api.BlobContent, error) {
	hex, err := r.Check()
	if err != nil {
		return nil, err
	}
	b, err := n.readBlob(ctx, hex)
	if err != nil {
		return nil, err
	}
	length, err := r.Of(b.Size)
	if err != nil {
		return nil, err
	}
	f, err := n.openBlob(ctx, hex)
	if err != nil {
		return nil, unread(hex, err)
	}
	return &api.BlobContent{Size: b.Size, From: r.From, Body: content{io.NewSectionReader(f, r.From, length), f}}, nil
}

// content is what is read of an open file.
type content struct {
	*io.SectionReader
	f *blob.File
}

// Close implements io.Closer.
func (c content) Close() error { return c.f.Close() }

// putRounds bounds how often a file is put again because maintenance dropped its record meanwhile.
const putRounds = 5

// putBlob stores a file on a majority of the voters: note it, write it everywhere, note that it is ready. From then on
// commands may refer to it. A file that is ready already is only noted once more, so that maintenance takes it for new (SPEC M3).
func (n *Node) putBlob(ctx context.Context, b *blob.Staged) error {
	return blobError(n.storeBlob(ctx, b))
}

// storeBlob is putBlob with the errors of the stores.
func (n *Node) storeBlob(ctx context.Context, b *blob.Staged) error {
	return n.uploader().store(ctx, b)
}

// noteBlob proposes a note.
func (n *Node) noteBlob(ctx context.Context, note task.NoteBlob) (task.Result, error) {
	return n.uploader().note(ctx, note)
}

func (n *Node) uploader() *uploader {
	return &uploader{blobs: n.blobs, propose: n.store.Propose, wait: n.store.WaitIndex, local: n.store.Local, voters: n.blobVoters}
}

// uploader stores files through this node.
type uploader struct {
	blobs   *blob.Store
	propose func(context.Context, ...task.Command) ([]task.Result, error)
	wait    func(ctx context.Context, index uint64) error // until this node has applied the log so far
	local   func(func(*task.Machine))
	voters  func() blob.Spread
}

func (u *uploader) store(ctx context.Context, b *blob.Staged) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	for range putRounds {
		dropped, err := u.storeOnce(ctx, b)
		if err != nil || !dropped {
			return err
		}
	}
	return fmt.Errorf("%w: its record was dropped %d times while it was written", blob.ErrTooFew, putRounds)
}

// storeOnce is one round; dropped: the record went while the file was written, and the files may have gone with it.
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

// note proposes a note, not under the client's idempotency key: that is for what the client asked. Noting twice is noting
// once.
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

// blobVoters says where a file must be so that a majority of the voters has it.
func (n *Node) blobVoters() (to blob.Spread) {
	voters := 0
	for _, m := range n.store.Status().Members {
		switch {
		case !m.Voter:
			continue
		case m.ID == n.cfg.ID:
			to.Self = true
		case m.Addr != "":
			to.Peers = append(to.Peers, m.Addr)
		}
		voters++
	}
	to.Need = voters/2 + 1
	return to
}

// putPayload stores the bytes of a payload that is too long for the log.
func (n *Node) putPayload(ctx context.Context, data []byte) (digest string, err error) {
	b, err := n.blobs.StageBytes(data)
	if err != nil {
		return "", blobError(err)
	}
	defer b.Close()
	return b.Digest, n.putBlob(ctx, b)
}

// openBlob opens a file of this node, or one fetched from another.
func (n *Node) openBlob(ctx context.Context, digest string) (*blob.File, error) {
	return n.blobs.Open(ctx, digest, n.otherAddrs())
}

// nodeBlobs are the cluster's files for the built-in worker.
type nodeBlobs struct{ n *Node }

var _ worker.Blobs = nodeBlobs{}

// Put implements worker.Blobs.
func (b nodeBlobs) Put(ctx context.Context, data []byte) (digest string, err error) {
	return b.n.putPayload(ctx, data)
}

// Open implements worker.Blobs.
func (b nodeBlobs) Open(ctx context.Context, digest string) (worker.Blob, error) {
	f, err := b.n.openBlob(ctx, digest)
	if errors.Is(err, blob.ErrNotFound) {
		return nil, fmt.Errorf("%w: %w", worker.ErrNoBlob, err)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// blobError turns what the stores could not do for a blob into an answer of the API.
func blobError(err error) error {
	switch {
	case err == nil:
		return nil
	case api.CodeOf(err) != "":
		return err
	case errors.Is(err, blob.ErrTooLarge):
		return api.LimitError("blob", blob.DefaultMaxBytes, "at most %d bytes", blob.DefaultMaxBytes)
	case errors.Is(err, blob.ErrNoSpace):
		return api.NewError(api.CodeStorageFull, "the file could not be stored on a majority of the nodes: %v", err)
	case errors.Is(err, blob.ErrTooFew):
		return api.NewError(api.CodeNotReady, "the file could not be stored on a majority of the nodes: %v", err)
	case errors.Is(err, blob.ErrClosed):
		return api.NewError(api.CodeNotReady, "this node is stopping; ask another")
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return api.NewError(api.CodeNotReady, "storing the file took too long")
	}
	// What the replicated store says of a note is true of the put as a whole: it is safe to send it again.
	return storeError(err, false)
}
