package apitest

import (
	"bytes"
	"context"
	"io"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/spaces"
	"github.com/taskrt/taskrt/task"
)

var _ api.NamespaceAdmin = (*Fake)(nil)

// Namespaces implements api.Service.
func (f *Fake) Namespaces(ctx context.Context) ([]api.Namespace, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := []api.Namespace{}
	for _, x := range f.machine.Namespaces() {
		all = append(all, *spaces.Show(x))
	}
	api.SetIndex(ctx, f.index)
	return all, nil
}

// Namespace implements api.Service.
func (f *Fake) Namespace(ctx context.Context, name string) (*api.Namespace, error) {
	if err := api.CheckNamespaceName(name); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	x := f.machine.Namespace(name)
	if x == nil {
		return nil, spaces.Unknown(name)
	}
	api.SetIndex(ctx, f.index)
	return spaces.Show(x), nil
}

// CreateNamespace implements api.Service.
func (f *Fake) CreateNamespace(ctx context.Context, s api.NamespaceSettings) (*api.Namespace, error) {
	if err := s.CheckNew(); err != nil {
		return nil, err
	}
	return f.changeNamespace(ctx, spaces.Put(&s, true))
}

// UpdateNamespace implements api.Service.
func (f *Fake) UpdateNamespace(ctx context.Context, s api.NamespaceSettings) (*api.Namespace, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	return f.changeNamespace(ctx, spaces.Put(&s, false))
}

// SetNamespaceStatus implements api.Service.
func (f *Fake) SetNamespaceStatus(ctx context.Context, name, status string) (*api.Namespace, error) {
	if err := api.CheckNamespaceName(name); err != nil {
		return nil, err
	}
	if err := api.CheckStatus(status); err != nil {
		return nil, err
	}
	return f.changeNamespace(ctx, spaces.SetStatus(name, status))
}

func (f *Fake) changeNamespace(ctx context.Context, c task.Command) (*api.Namespace, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	res, err := f.propose(ctx, c)
	if err != nil {
		return nil, err
	}
	space := *res.Space
	if x := f.machine.Namespace(space.Name); x != nil {
		space.Usage = x.Usage
	}
	return spaces.Show(&space), nil
}

// ExportNamespace implements api.Service.
func (f *Fake) ExportNamespace(ctx context.Context, r api.ExportRequest) (io.ReadCloser, error) {
	if err := api.CheckNamespaceName(r.Name); err != nil {
		return nil, err
	}
	state := f.freeze()
	api.SetIndex(ctx, state.Index())
	return spaces.Export(ctx, state, f.openBlob, r)
}

// openBlob returns the bytes of a module or blob.
func (f *Fake) openBlob(digest string) (io.ReadCloser, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b, ok := f.wasm[digest]
	if !ok {
		return nil, api.NewError(api.CodeBlobNotFound, "no blob %s", digest)
	}
	return io.NopCloser(bytes.NewReader(b)), nil
}

// ImportNamespace implements api.Service.
func (f *Fake) ImportNamespace(ctx context.Context, r api.ImportRequest) (*api.ImportReply, error) {
	return spaces.Import(ctx, r, fakeTarget{f})
}

func (f *Fake) freeze() *task.Frozen {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.machine.Freeze()
}

// fakeTarget takes up what an import brings.
type fakeTarget struct{ *Fake }

var _ spaces.Target = fakeTarget{}

// Freeze implements spaces.Target.
func (f fakeTarget) Freeze(context.Context) (*task.Frozen, error) { return f.freeze(), nil }

// DeterministicID implements spaces.Target.
func (fakeTarget) DeterministicID(_ context.Context, namespace, behavior string, _ []string, p task.Payload) (string, error) {
	return idOfParams(namespace, behavior, p), nil
}

// Propose implements spaces.Target.
func (f fakeTarget) Propose(ctx context.Context, c task.Command) (task.Result, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.propose(ctx, c)
}

// Put implements spaces.Target.
func (f fakeTarget) Put(_ context.Context, digestOf string, r io.Reader) (stored bool, err error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return false, err
	}
	if got := digest(b); got != digestOf {
		return false, api.FieldError(api.CodeBadArchive, "blob", "the bytes have the digest sha256:%s", got)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.machine.BlobReady(digestOf) {
		return false, nil
	}
	return true, f.keepBlob(digestOf, b)
}
