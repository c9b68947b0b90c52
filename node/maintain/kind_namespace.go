package maintain

import (
	"context"

	"github.com/taskrt/taskrt/task"
)

// namespaceKind is for namespaces. A namespace is kept until it has been PURGED for long (SPEC N1). Run.purge empties
// those in PURGING.
type namespaceKind struct{}

func (namespaceKind) Name() string { return "namespace" }

func (namespaceKind) Mark(ctx context.Context, r *Run, keep func(Object) error) error {
	return eachNamespace(ctx, r, func(n *task.Namespace) error {
		if n.Status == task.NamespaceIsPurged && n.ChangedAt+task.Time(r.cfg.Forget.Milliseconds()) <= r.Now {
			return nil
		}
		return keep(namespaceObject(n))
	})
}

func (namespaceKind) Retains(*Run, Object, func(Object) error) error { return nil }

func (namespaceKind) Scan(ctx context.Context, r *Run, found func(Object) error) error {
	return eachNamespace(ctx, r, func(n *task.Namespace) error { return found(namespaceObject(n)) })
}

// namespaceObject makes an object that is in no namespace: otherwise a namespace in PURGING would hide itself.
func namespaceObject(n *task.Namespace) Object { return Object{Kind: "namespace", Name: n.Name} }

// Delete forgets PURGED namespaces. If a namespace was created anew meanwhile the machine refuses to forget it, and it
// stays.
func (namespaceKind) Delete(ctx context.Context, r *Run, os []Object) (int64, error) {
	done := int64(0)
	for _, o := range os {
		res, err := r.command(ctx, task.EndPurge{Token: r.job.Token, Namespace: o.Name, Forget: task.Millis(r.cfg.Forget.Milliseconds())})
		if refused(err) {
			continue
		}
		if err != nil {
			return done, err
		}
		if res.Changed {
			done++
		}
	}
	return done, nil
}

func eachNamespace(ctx context.Context, r *Run, see func(*task.Namespace) error) error {
	var all []*task.Namespace
	r.cluster.Local(func(m *task.Machine) { all = m.Namespaces() })
	return each(ctx, r, all, see)
}

// namesOf lists the namespaces that have a status.
func namesOf(m *task.Machine, s task.NamespaceStatus) map[string]bool {
	names := map[string]bool{}
	for _, n := range m.Namespaces() {
		if n.Status == s {
			names[n.Name] = true
		}
	}
	return names
}
