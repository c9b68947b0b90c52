package query

import (
	"slices"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/hash"
)

// postings say which slots of a segment have an attribute that few tasks share: the upper 48 bits of a hash, and the slot.
// An attribute that a task has no longer stays until the segment is written anew.
type postings struct {
	sorted []uint64
	tail   []uint64 // not sorted yet
}

const (
	slotBits = 16
	maxTail  = 4096
)

// hashOf returns the hash of an attribute, of which the slot bits are 0. It is of no contract: each node makes its own.
func hashOf(kind uint64, namespace, name, value string) uint64 {
	h := hash.New(kind)
	h.Str(namespace)
	h.Str(name)
	h.Str(value)
	return h.Sum() &^ (1<<slotBits - 1)
}

const (
	ofLabel uint64 = iota + 1
	ofParent
	ofPrefix
)

func labelHash(namespace string, l task.Label) uint64 {
	return hashOf(ofLabel, namespace, l.Name, l.Value)
}
func parentHash(namespace, id string) uint64 { return hashOf(ofParent, namespace, id, "") }

func (p *postings) add(attribute uint64, slot int) {
	p.tail = append(p.tail, attribute|uint64(slot))
	if len(p.tail) >= maxTail {
		p.settle()
	}
}

// settle sorts the tail in.
func (p *postings) settle() {
	if len(p.tail) == 0 {
		return
	}
	slices.Sort(p.tail)
	merged := make([]uint64, 0, len(p.sorted)+len(p.tail))
	i := 0
	for _, v := range p.tail {
		for i < len(p.sorted) && p.sorted[i] < v {
			merged = append(merged, p.sorted[i])
			i++
		}
		merged = append(merged, v)
	}
	p.sorted = slices.Compact(append(merged, p.sorted[i:]...))
	p.tail = p.tail[:0]
}

// slots appends the slots that have an attribute, rising.
func (p *postings) slots(attribute uint64, out []int) []int {
	low, _ := slices.BinarySearch(p.sorted, attribute)
	for _, v := range p.sorted[low:] {
		if v&^(1<<slotBits-1) != attribute {
			break
		}
		out = append(out, int(v&(1<<slotBits-1)))
	}
	settled := len(out)
	for _, v := range p.tail {
		if v&^(1<<slotBits-1) == attribute {
			out = append(out, int(v&(1<<slotBits-1)))
		}
	}
	if len(out) > settled { // a tail holds old slots again where labels changed
		slices.Sort(out)
		out = slices.Compact(out)
	}
	return out
}

// has reports whether a slot has an attribute.
func (p *postings) has(attribute uint64, slot int) bool {
	v := attribute | uint64(slot)
	_, settled := slices.BinarySearch(p.sorted, v)
	return settled || slices.Contains(p.tail, v)
}

// count returns about how many slots have an attribute.
func (p *postings) count(attribute uint64) int {
	low, _ := slices.BinarySearch(p.sorted, attribute)
	high, _ := slices.BinarySearch(p.sorted[low:], attribute+1<<slotBits)
	return high
}

// all returns the slots that have all of the attributes, at least one, rising.
func (p *postings) all(attributes []uint64) []int {
	rarest := slices.MinFunc(attributes, func(a, b uint64) int { return p.count(a) - p.count(b) })
	return slices.DeleteFunc(p.slots(rarest, nil), func(slot int) bool {
		return slices.ContainsFunc(attributes, func(a uint64) bool { return a != rarest && !p.has(a, slot) })
	})
}
