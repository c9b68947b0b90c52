package maintain

import (
	"context"

	"github.com/taskrt/taskrt/task"
)

// moduleKind is for the records of modules. A record goes by itself with the last version that needs it; the module's
// file is a blob.
type moduleKind struct{}

func (moduleKind) Name() string { return "module" }

func (moduleKind) Mark(context.Context, *Run, func(Object) error) error { return nil }

// Retains keeps the module's bytes.
func (moduleKind) Retains(_ *Run, o Object, keep func(Object) error) error {
	return keep(Object{Kind: "blob", Name: o.Name})
}

func (moduleKind) Scan(ctx context.Context, r *Run, found func(Object) error) error {
	var all []*task.Module
	r.cluster.Local(func(m *task.Machine) { all = m.Modules() })
	return each(ctx, r, all, func(x *task.Module) error { return found(Object{Kind: "module", Name: x.Digest}) })
}

// Delete only counts: whatever drops the last version that needs a module drops the module.
func (moduleKind) Delete(ctx context.Context, r *Run, os []Object) (int64, error) {
	gone := int64(0)
	r.cluster.Local(func(m *task.Machine) {
		for _, o := range os {
			if m.Module(o.Name) == nil {
				gone++
			}
		}
	})
	return gone, nil
}
