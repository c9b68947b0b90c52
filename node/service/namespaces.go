package service

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/api/spaces"
	"github.com/taskrt/taskrt/internal/idle"
	"github.com/taskrt/taskrt/node/identity"
	"github.com/taskrt/taskrt/node/view"
	"github.com/taskrt/taskrt/raftstore"
	"github.com/taskrt/taskrt/runtime/manifest"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/names"
)

var _ api.NamespaceAdmin = (*Service)(nil)

// Namespaces implements api.Service. A PURGED namespace is listed for as long as it is remembered.
func (svc *Service) Namespaces(ctx context.Context) ([]api.Namespace, error) {
	all := []api.Namespace{}
	err := svc.read(ctx, readOptions{}, func(m *task.Machine) {
		for _, x := range m.Namespaces() {
			all = append(all, *spaces.Show(x))
		}
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Namespace implements api.Service. A PURGED namespace is shown for as long as it is remembered, so that the caller who
// purged it can see that the purge is over.
func (svc *Service) Namespace(ctx context.Context, name string) (*api.Namespace, error) {
	if err := api.CheckNamespaceName(name); err != nil {
		return nil, err
	}
	var x *task.Namespace
	if err := svc.read(ctx, readOptions{}, func(m *task.Machine) { x = m.Namespace(name) }); err != nil {
		return nil, err
	}
	if x == nil {
		return nil, spaces.Unknown(name)
	}
	return spaces.Show(x), nil
}

// CreateNamespace implements api.Service.
func (svc *Service) CreateNamespace(ctx context.Context, s api.NamespaceSettings) (*api.Namespace, error) {
	if err := s.CheckNew(); err != nil {
		return nil, err
	}
	return svc.changeNamespace(ctx, spaces.Put(&s, true))
}

// UpdateNamespace implements api.Service.
func (svc *Service) UpdateNamespace(ctx context.Context, s api.NamespaceSettings) (*api.Namespace, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	return svc.changeNamespace(ctx, spaces.Put(&s, false))
}

// SetNamespaceStatus implements api.Service (SPEC N1).
func (svc *Service) SetNamespaceStatus(ctx context.Context, name, status string) (*api.Namespace, error) {
	if err := firstError(api.CheckNamespaceName(name), api.CheckStatus(status)); err != nil {
		return nil, err
	}
	space, err := svc.changeNamespace(ctx, spaces.SetStatus(name, status))
	if err == nil && status == api.NamespacePurging {
		svc.hurry(ctx)
	}
	return space, err
}

// changeNamespace proposes a change and shows the namespace that it made, with what the namespace holds by then.
func (svc *Service) changeNamespace(ctx context.Context, cmd task.Command) (*api.Namespace, error) {
	res, err := svc.proposeOne(ctx, cmd)
	if err != nil {
		return nil, err
	}
	if err := svc.catchUpTo(ctx, res.Index); err != nil {
		return nil, err
	}
	space := *res.Space
	svc.store.Local(func(m *task.Machine) {
		if x := m.Namespace(space.Name); x != nil {
			space.Usage = x.Usage
		}
	})
	return spaces.Show(&space), nil
}

// maxExports bounds the exports under way on one node. Each holds a state of its own, and what changes meanwhile is in
// memory twice.
const maxExports = 4

// ExportNamespace implements api.Service (SPEC M5). It exports one state of the cluster, at least as new as everything
// that was acknowledged before. Changes that happen meanwhile do not wait for the export, and do not show in it.
func (svc *Service) ExportNamespace(ctx context.Context, r api.ExportRequest) (io.ReadCloser, error) {
	if err := api.CheckNamespaceName(r.Name); err != nil {
		return nil, err
	}
	select {
	case svc.exports <- struct{}{}:
	default:
		return nil, api.NewError(api.CodeOverloaded, "%d exports are under way on this node; ask another", maxExports)
	}
	lines, err := svc.export(ctx, r)
	if err != nil {
		<-svc.exports
		return nil, err
	}
	return &exportReader{ReadCloser: lines, release: func() { <-svc.exports }}, nil
}

func (svc *Service) export(ctx context.Context, r api.ExportRequest) (io.ReadCloser, error) {
	state, err := svc.freeze(ctx)
	if err != nil {
		return nil, err
	}
	api.SetIndex(ctx, state.Index())
	open := func(digest string) (io.ReadCloser, error) {
		f, err := svc.files.Open(ctx, digest)
		if err != nil {
			return nil, err
		}
		return content{io.NewSectionReader(f, 0, f.Size()), f}, nil
	}
	return spaces.Export(ctx, state, open, r)
}

func (svc *Service) freeze(ctx context.Context) (*task.Frozen, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	state, err := svc.store.Freeze(ctx)
	return state, storeError(err, false)
}

// exportReader makes room for another export when it is closed.
type exportReader struct {
	io.ReadCloser
	release func()
}

// Close implements io.Closer; a second Close does nothing.
func (r *exportReader) Close() error {
	err := r.ReadCloser.Close()
	if r.release != nil {
		r.release()
		r.release = nil
	}
	return err
}

// ImportNamespace implements api.Service (SPEC M5).
func (svc *Service) ImportNamespace(ctx context.Context, r api.ImportRequest) (*api.ImportReply, error) {
	return spaces.Import(ctx, r, &importTarget{svc: svc})
}

// importTarget takes in what an import brings.
type importTarget struct {
	svc   *Service
	begun bool // some records were taken up, and the audit says so (SPEC A8)
}

var _ spaces.Target = (*importTarget)(nil)

// Freeze implements spaces.Target.
func (t *importTarget) Freeze(ctx context.Context) (*task.Frozen, error) { return t.svc.freeze(ctx) }

// Level implements spaces.Target.
func (t *importTarget) Level() (level uint64) {
	t.svc.store.Local(func(m *task.Machine) { level = m.Level() })
	return level
}

// DeterministicID implements spaces.Target. If the params are a blob it reads the blob, which came before them.
func (t *importTarget) DeterministicID(ctx context.Context, namespace, behavior string, pointers []string, p task.Payload) (string, error) {
	if p.Blobs != nil && p.Blobs.Content != "" {
		room := t.svc.contents()
		defer room.release()
		whole, err := room.stored(ctx, "params", p)
		if api.CodeOf(err) == api.CodeBlobGone { // or this node is behind
			if err = t.svc.catchUp(ctx); err == nil {
				whole, err = room.stored(ctx, "params", p)
			}
		}
		if err != nil {
			return "", err
		}
		p = whole
	}
	canonical, err := identity.Canonical(p, pointers)
	if err != nil {
		return "", err
	}
	return names.OfParams(namespace, behavior, canonical), nil
}

// importPause is how long an import waits when too much is waiting to be written.
const importPause = 100 * time.Millisecond

// Propose implements spaces.Target. If the outcome is unknown the import ends. A second import goes on where it ended.
func (t *importTarget) Propose(ctx context.Context, c task.Command) (task.Result, error) {
	if err := t.checkModules(ctx, c); err != nil {
		return task.Result{}, err
	}
	_, some := c.(task.ImportRecords)
	if some && t.begun { // one record for all of them
		ctx = auth.WithTrail(ctx, nil)
	}
	t.begun = t.begun || some
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	for {
		rs, err := t.svc.store.Propose(ctx, c)
		if errors.Is(err, raftstore.ErrOverloaded) { // an import waits for others, as a long request may
			if idle.For(ctx, importPause) {
				continue
			}
			return task.Result{}, storeError(err, false)
		}
		if err != nil {
			return task.Result{}, storeError(err, true)
		}
		api.SetIndex(ctx, rs[0].Index)
		return view.Accepted(&rs[0])
	}
}

// checkModules lets no module in that a push would refuse. The files are there, because their lines come first.
func (t *importTarget) checkModules(ctx context.Context, c task.Command) error {
	brought, ok := c.(task.ImportRecords)
	if !ok {
		return nil
	}
	for _, m := range brought.Modules {
		known := false
		t.svc.store.Local(func(x *task.Machine) { known = x.Module(m.Digest) != nil })
		if known {
			continue
		}
		if err := t.checkModule(ctx, brought.Namespace, m); err != nil {
			return err
		}
	}
	return nil
}

func (t *importTarget) checkModule(ctx context.Context, namespace string, m *task.Module) error {
	wasm, err := t.svc.files.Get(ctx, m.Digest)
	if err != nil {
		return api.FieldError(string(task.BlobGone), "modules", "the file of module %.80s is not there: %v", m.Digest, err)
	}
	given, err := manifest.Parse(m.Manifest)
	if err != nil {
		return uploadError(err)
	}
	in, err := t.svc.modules.Inspect(ctx, wasm, given, "")
	if err == nil {
		err = t.svc.modules.CheckGranted(namespace, &in.Manifest)
	}
	if err != nil {
		return uploadError(err)
	}
	if in.Version != m.Version {
		return api.FieldError(api.CodeBadArchive, "modules", "module %.80s with its manifest is version %s, not %.80s", m.Digest, in.Version, m.Version)
	}
	return nil
}

// Put implements spaces.Target. A blob that is there is noted again, so that maintenance takes it for new: the records
// that refer to it follow.
func (t *importTarget) Put(ctx context.Context, digest string, bytes io.Reader) (stored bool, err error) {
	var row *task.Blob
	t.svc.store.Local(func(m *task.Machine) { row = m.Blob(digest) })
	if row != nil && row.Ready {
		_, err := t.svc.files.Note(ctx, task.NoteBlob{Digest: digest, Size: row.Size})
		return false, blobError(err)
	}
	b, err := t.svc.files.Stage(ctx, bytes)
	if err != nil {
		return false, blobError(err)
	}
	defer b.Close()
	if b.Digest != digest {
		return false, api.FieldError(api.CodeBadArchive, "blob", "the bytes have the digest sha256:%s", b.Digest)
	}
	return true, t.svc.putBlob(ctx, b)
}
