package maintain

import (
	"context"
	"fmt"
	"strings"

	"github.com/taskrt/taskrt/task"
)

// blobKind is for blobs. A blob is kept by what refers to it, and while it is young (SPEC M3).
type blobKind struct{}

func (blobKind) Name() string { return "blob" }

func (blobKind) Mark(context.Context, *Run, func(Object) error) error { return nil }

func (blobKind) Retains(*Run, Object, func(Object) error) error { return nil }

func (blobKind) Scan(ctx context.Context, r *Run, found func(Object) error) error {
	after := ""
	for {
		bs := make([]*task.Blob, 0, page)
		r.cluster.Local(func(m *task.Machine) {
			for b := range m.Blobs(after) {
				if bs = append(bs, b); len(bs) == page {
					return
				}
			}
		})
		if len(bs) == 0 {
			return nil
		}
		err := each(ctx, r, bs, func(b *task.Blob) error {
			return found(Object{Kind: "blob", Name: b.Digest, Time: max(task.Time(b.Noted), 1)})
		})
		if err != nil {
			return err
		}
		after = bs[len(bs)-1].Digest
	}
}

// Delete drops blobs. The state machine looks again whether they are needed, and how old they are.
func (blobKind) Delete(ctx context.Context, r *Run, os []Object) (int64, error) {
	return r.dropBlobs(ctx, os)
}

func (r *Run) dropBlobs(ctx context.Context, os []Object) (int64, error) {
	digests := make([]string, len(os))
	for i, o := range os {
		digests[i] = o.Name
	}
	res, err := r.command(ctx, task.DropBlobs{Token: r.job.Token, Before: r.Before, Digests: digests})
	r.kept += res.Left
	return res.Count, err
}

// holders names whom blobs are held for now.
func (r *Run) holders() string {
	var names []string
	r.cluster.Local(func(m *task.Machine) {
		for _, x := range task.Holds(m) {
			names = append(names, fmt.Sprintf("%s (%s)", x.Holder, x.ID))
		}
	})
	if names == nil {
		return "it has just ended"
	}
	return strings.Join(names, ", ")
}

// fileKind is for the files of members' blob stores. A file is kept if the log knows its digest. The others are left
// over from uploads that ended in the middle, and from deletions that a member did not carry out.
type fileKind struct{}

func (fileKind) Name() string { return "file" }

func (fileKind) Mark(context.Context, *Run, func(Object) error) error { return nil }

func (fileKind) Retains(*Run, Object, func(Object) error) error { return nil }

func (fileKind) Scan(ctx context.Context, r *Run, found func(Object) error) error {
	seen := map[string]bool{} // files left over: one command makes all members drop a file
	return r.eachFile(ctx, BlobFiles, func(_ string, fs []File) error {
		known := make([]bool, len(fs))
		r.cluster.Local(func(m *task.Machine) {
			for i, f := range fs {
				known[i] = f.Kind == "" && (m.Blob(f.Name) != nil || m.Module(f.Name) != nil)
			}
		})
		for i, f := range fs {
			o := f.object("file")
			if known[i] {
				r.retained(&o)
				continue
			}
			if seen[f.Name] {
				continue
			}
			if o.Time < r.Before && len(seen) < r.cfg.Candidates {
				seen[f.Name] = true
			}
			if err := found(o); err != nil {
				return err
			}
		}
		return nil
	})
}

// Delete makes every member drop the files, unless the log has come to know them.
func (fileKind) Delete(ctx context.Context, r *Run, os []Object) (int64, error) {
	return r.dropBlobs(ctx, os)
}
