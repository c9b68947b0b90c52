// Package answers remembers the answers to commands (SPEC H4). A command that is sent again gets its former answer and is not applied again.
// A proposing process numbers its commands and says which answers it still lacks. A client names a request by a key.
//
// The package is a container: package task decides what is answered, and what a refusal says. Like package task it is pure: its content
// depends only on the calls, and on the lease clock that the caller gives.
package answers

import (
	"cmp"
	"maps"
	"slices"

	"github.com/taskrt/taskrt/task/table"
)

// Form is what a Table cannot know of answers R. Hashes are part of the digest.
type Form[R any] interface {
	HashProcess(id, lowest uint64, used int64) uint64
	HashKey(id, body uint64, first int64) uint64
	HashAnswer(owner, seq uint64, r *R) uint64 // owner: the process, or the hash of the key
	Bytes(r *R) int64                          // its large parts
}

// Limit bounds what a Table keeps.
type Limit struct {
	Processes int64 // one more takes the place of the process that was silent longest
	Answers   int64 // per process
	Bytes     int64 // of the answers of a process
	Keys      int64
	KeyBytes  int64 // of all answers under keys; the last answer that is admitted may pass it
	Idle      int64 // milliseconds after which a silent process, and any key, is forgotten
}

// Table holds answers. Reads may run beside each other, not beside writes; Freeze is a write.
type Table[R any] struct {
	Limit     Limit // does not change while something is kept
	form      Form[R]
	sum       uint64
	processes map[uint64]*Process[R]
	keys      map[uint64]*Key[R]
	expiries  table.Heap[*table.Pos, uint64, *Key[R]] // of keys, by when they are forgotten
	keyBytes  int64                                   // of the answers under keys
}

// New returns an empty table.
func New[R any](form Form[R]) Table[R] {
	return Table[R]{form: form, processes: map[uint64]*Process[R]{}, keys: map[uint64]*Key[R]{}}
}

// Sum returns the sum of the hashes of all that is kept.
func (t *Table[R]) Sum() uint64 { return t.sum }

// Len returns how many processes and keys are known.
func (t *Table[R]) Len() (processes, keys int) { return len(t.processes), len(t.keys) }

// answer is one kept answer.
type answer[R any] struct {
	seq    uint64
	result *R
	hash   uint64
	bytes  int64
}

func (t *Table[R]) answer(owner, seq uint64, r *R) answer[R] {
	return answer[R]{seq, r, t.form.HashAnswer(owner, seq, r), t.form.Bytes(r)}
}

// list holds answers by number. Its array is appended to and cut in front. It is written in place only while it is not frozen.
type list[R any] struct {
	answers []answer[R]
	frozen  bool // a Frozen may share the array
}

// place returns where the answer with the number is or belongs. This is nearly always the end, because commands are numbered in order.
func (l *list[R]) place(seq uint64) (int, bool) {
	if l.last() < seq {
		return len(l.answers), false
	}
	return slices.BinarySearchFunc(l.answers, seq, func(a answer[R], seq uint64) int { return cmp.Compare(a.seq, seq) })
}

// get returns a kept answer, or nil.
func (l *list[R]) get(seq uint64) *R {
	if i, ok := l.place(seq); ok {
		return l.answers[i].result
	}
	return nil
}

// last returns the number of the last answer, 0 for none.
func (l *list[R]) last() uint64 {
	if n := len(l.answers); n > 0 {
		return l.answers[n-1].seq
	}
	return 0
}

// insert adds an answer. It does not write into an array that a Frozen may share, but copies the array first, once. The callers of a process overtake
// each other, and a copy for each of their commands would be most of the work.
func (l *list[R]) insert(a answer[R]) {
	i, _ := l.place(a.seq)
	if i == len(l.answers) {
		l.answers = append(l.answers, a)
		return
	}
	if l.frozen {
		l.answers = slices.Clone(l.answers)
	}
	l.answers, l.frozen = slices.Insert(l.answers, i, a), false
}

// Frozen are the answers at one index. It may be read from another goroutine while the Table goes on.
type Frozen[R any] struct {
	processes []Process[R]
	keys      []Key[R]
	answers   int
}

// Freeze returns what is kept as it is and will stay.
func (t *Table[R]) Freeze() Frozen[R] {
	var f Frozen[R]
	for _, id := range slices.Sorted(maps.Keys(t.processes)) {
		p := t.processes[id]
		p.frozen = true
		f.processes = append(f.processes, *p)
		f.answers += len(p.answers)
	}
	for _, id := range slices.Sorted(maps.Keys(t.keys)) {
		k := t.keys[id]
		k.frozen = true
		f.keys = append(f.keys, *k)
		f.answers += len(k.answers)
	}
	return f
}

// Len returns how many processes, keys and answers there are.
func (f *Frozen[R]) Len() (processes, keys, answers int64) {
	return int64(len(f.processes)), int64(len(f.keys)), int64(f.answers)
}

// Processes yields the processes in order.
func (f *Frozen[R]) Processes(yield func(id, lowest uint64, used int64) bool) bool {
	for i := range f.processes {
		if p := &f.processes[i]; !yield(p.id, p.lowest, p.used) {
			return false
		}
	}
	return true
}

// Keys yields the keys in order.
func (f *Frozen[R]) Keys(yield func(id, body uint64, first int64) bool) bool {
	for i := range f.keys {
		if k := &f.keys[i]; !yield(k.id, k.body, k.first) {
			return false
		}
	}
	return true
}

// Answers yields the answers: those to processes by process and number, then those under keys.
func (f *Frozen[R]) Answers(yield func(id, seq uint64, r *R, keyed bool) bool) bool {
	for i := range f.processes {
		for _, a := range f.processes[i].answers {
			if !yield(f.processes[i].id, a.seq, a.result, false) {
				return false
			}
		}
	}
	for i := range f.keys {
		for _, a := range f.keys[i].answers {
			if !yield(f.keys[i].id, a.seq, a.result, true) {
				return false
			}
		}
	}
	return true
}

// later returns at + d without overflow.
func later(at, d int64) int64 {
	const end = 1<<63 - 1
	if d > 0 && at > end-d {
		return end
	}
	return at + d
}
