package maintain

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/taskrt/taskrt/task"
)

// Kind knows one kind of object (SPEC M2). To add a kind takes one file, and a line in kinds.
type Kind interface {
	// Name names the kind. The name is unique.
	Name() string
	// Mark calls keep for every object of this kind that is kept for its own sake.
	Mark(ctx context.Context, r *Run, keep func(Object) error) error
	// Retains calls keep for everything that o, a kept object of this kind, needs.
	Retains(r *Run, o Object, keep func(Object) error) error
	// Scan calls found for every object that there is, also for objects of a kind that nobody knows.
	Scan(ctx context.Context, r *Run, found func(Object) error) error
	// Delete deletes objects of this kind, at most Config.Batch, and returns how many it has deleted. An object stays if
	// it is needed again since it was marked, or is something else by now.
	Delete(ctx context.Context, r *Run, os []Object) (int64, error)
}

// Object is something that may be deleted when nothing needs it.
type Object struct {
	Kind, Namespace, Name string
	Rev                   uint64    // the version of its record that was looked at; 0: objects of this kind have none
	Time                  task.Time // an object that is not older than Run.Before stays; 0: its record alone decides
	Value                 any       // what Retains of its kind needs to know of it
}

func (o *Object) String() string { return o.Kind + " " + o.Namespace + "/" + o.Name }

// kinds returns all known kinds in the order in which they are marked, scanned and deleted.
func kinds() []Kind {
	return []Kind{
		namespaceKind{}, behaviorKind{}, versionKind{}, moduleKind{}, operationKind{}, taskKind{}, recordKind{},
		blobKind{}, fileKind{}, logKind{},
	}
}

// commandName is the name of a command's type.
func commandName(c task.Command) string {
	return strings.TrimPrefix(fmt.Sprintf("%T", c), "task.")
}

// maxDepth bounds chains of objects that retain each other. A longer chain is a circle.
const maxDepth = 16

// keep marks an object and what it retains.
func (r *Run) keep(o Object) error { return r.keepAt(o, 0) }

func (r *Run) keepAt(o Object, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("maintain: objects retain each other in a circle, near %s", &o)
	}
	k := r.kind(o.Kind)
	if k == nil {
		return fmt.Errorf("maintain: %s is retained, but nobody knows this kind", &o)
	}
	r.filter.add(&o)
	if err := k.Retains(r, o, func(next Object) error { return r.keepAt(next, depth+1) }); err != nil {
		return fmt.Errorf("%s: %w", &o, err)
	}
	return nil
}

func (r *Run) kind(name string) Kind {
	i := slices.IndexFunc(r.kinds, func(k Kind) bool { return k.Name() == name })
	if i < 0 {
		return nil
	}
	return r.kinds[i]
}
