// Package exclusive knows which operations run, and says which of them exclude an operation that is to start (SPEC O2). Every running
// operation stands in a few lists. The name of a list is a question that the start of another operation asks. So a start looks at the heads
// of a few lists, and not at all operations. Like package task it is pure.
package exclusive

import (
	"cmp"
	"fmt"
	"slices"
)

// Terms are what decides about an operation's exclusivity. Everything is about one target.
type Terms struct {
	Namespace, Target, Object, Behavior string

	PerTarget    bool     // no other operation of its behavior may be on the target
	PerObject    bool     // no other operation of its behavior may be on the object
	Incompatible []string // behaviors that it excludes
}

// name is the name of a list.
type name struct {
	kind              kind
	namespace, target string
	behavior, object  string
}

type kind uint8

const (
	ofBehavior     kind = iota + 1 // operations of the behavior
	ofObject                       // and the object
	alonePerTarget                 // operations of the behavior that must be alone on the target
	alonePerObject                 // or on the object
	incompatible                   // operations that exclude the behavior
)

// own returns the lists in which the operation stands.
func (t *Terms) own() []name {
	names := []name{t.name(ofBehavior, t.Behavior, ""), t.name(ofObject, t.Behavior, t.Object)}
	return t.byPolicy(names, alonePerTarget, alonePerObject, incompatible)
}

// enemies returns the lists whose operations exclude the operation, or are excluded by it.
func (t *Terms) enemies() []name {
	names := []name{
		t.name(alonePerTarget, t.Behavior, ""), t.name(alonePerObject, t.Behavior, t.Object), t.name(incompatible, t.Behavior, ""),
	}
	return t.byPolicy(names, ofBehavior, ofObject, ofBehavior)
}

func (t *Terms) name(k kind, behavior, object string) name {
	return name{k, t.Namespace, t.Target, behavior, object}
}

// byPolicy adds the lists that the policy calls for: a list if the operation must be alone on its target or object, and a list for each behavior that
// it excludes. If the policy names a behavior twice, its list is there twice.
func (t *Terms) byPolicy(names []name, perTarget, perObject, others kind) []name {
	if t.PerTarget {
		names = append(names, t.name(perTarget, t.Behavior, ""))
	}
	if t.PerObject {
		names = append(names, t.name(perObject, t.Behavior, t.Object))
	}
	for _, other := range t.Incompatible {
		names = append(names, t.name(others, other, ""))
	}
	return names
}

// Table holds the operations O that run. The zero value is empty.
type Table[O comparable] struct{ lists map[name][]member[O] }

// member is an operation in a list.
type member[O comparable] struct {
	created uint64
	of      O
}

func find[O comparable](list []member[O], created uint64) (int, bool) {
	return slices.BinarySearchFunc(list, created, func(m member[O], created uint64) int { return cmp.Compare(m.created, created) })
}

// Enter adds an operation. created is when it was created.
func (t *Table[O]) Enter(terms Terms, created uint64, o O) {
	if t.lists == nil {
		t.lists = map[name][]member[O]{}
	}
	for _, n := range terms.own() {
		if i, there := find(t.lists[n], created); !there {
			t.lists[n] = slices.Insert(t.lists[n], i, member[O]{created, o})
		}
	}
}

// Leave takes an operation out.
func (t *Table[O]) Leave(terms Terms, created uint64) {
	for _, n := range terms.own() {
		i, there := find(t.lists[n], created)
		if !there {
			continue
		}
		if t.lists[n] = slices.Delete(t.lists[n], i, i+1); len(t.lists[n]) == 0 {
			delete(t.lists, n)
		}
	}
}

// Excluding returns the oldest operation that excludes an operation of these terms, or is excluded by it.
func (t *Table[O]) Excluding(terms Terms) (o O, ok bool) {
	var oldest member[O]
	for _, n := range terms.enemies() {
		if list := t.lists[n]; len(list) > 0 && (!ok || list[0].created < oldest.created) {
			oldest, ok = list[0], true
		}
	}
	return oldest.of, ok
}

// Check compares the table with a table of the operations that must be in it.
func (t *Table[O]) Check(want *Table[O]) error {
	if len(t.lists) != len(want.lists) {
		return fmt.Errorf("O2: %d lists of running operations, recounted %d", len(t.lists), len(want.lists))
	}
	for n := range want.lists { // order-free: any violation will do
		if !slices.Equal(t.lists[n], want.lists[n]) {
			return fmt.Errorf("O2: %d operations under %v, recounted %d", len(t.lists[n]), n, len(want.lists[n]))
		}
	}
	return nil
}
