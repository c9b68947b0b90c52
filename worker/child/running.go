package child

import (
	"sync"

	"github.com/taskrt/taskrt/internal/subproc"
	"github.com/taskrt/taskrt/worker"
)

// table says in shared memory which attempts execute: it has a token for each slot that is taken. When the child has
// died its parent reads there which attempts died with it.
type table struct {
	cells *subproc.Cells

	mu   sync.Mutex
	free []int
	of   map[uint64]int // the cell of each token
}

func newTable(cells *subproc.Cells) *table {
	t := &table{cells: cells, of: map[uint64]int{}}
	for i := range cells.Len() {
		t.free = append(t.free, i)
	}
	return t
}

// note takes down that an attempt begins to execute, or no longer executes. A token stands in its cell before any code
// of the guest runs.
func (t *table) note(r worker.Run) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r.Ended != 0 {
		if i, ok := t.of[r.Token]; ok {
			t.cells.At(i).Store(0)
			delete(t.of, r.Token)
			t.free = append(t.free, i)
		}
		return
	}
	last := len(t.free) - 1 // never below 0: no more attempts execute than there are slots
	i := t.free[last]
	t.free = t.free[:last]
	t.of[r.Token] = i
	t.cells.At(i).Store(r.Token)
}

// tokensIn returns the tokens of the attempts that execute, or executed when the child died.
func tokensIn(cells *subproc.Cells) (tokens []uint64) {
	for i := range cells.Len() {
		if token := cells.At(i).Load(); token != 0 {
			tokens = append(tokens, token)
		}
	}
	return tokens
}
