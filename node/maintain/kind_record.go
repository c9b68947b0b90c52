package maintain

import (
	"context"

	"github.com/taskrt/taskrt/task"
)

// recordKind is for records of the TaskStore API. They live until their users delete them, or their namespace is
// purged. A run only counts them.
type recordKind struct{}

func (recordKind) Name() string { return "record" }

func (recordKind) Mark(context.Context, *Run, func(Object) error) error { return nil }

func (recordKind) Retains(*Run, Object, func(Object) error) error { return nil }

func (recordKind) Scan(ctx context.Context, r *Run, _ func(Object) error) error {
	return eachNamespace(ctx, r, func(n *task.Namespace) error {
		if n.Usage.Records > 0 && !r.purging[n.Name] {
			line := r.counts.of("record", n.Name)
			line.Scanned, line.Retained = n.Usage.Records, n.Usage.Records
		}
		return nil
	})
}

func (recordKind) Delete(context.Context, *Run, []Object) (int64, error) { return 0, nil }
