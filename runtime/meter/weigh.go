package meter

import (
	"fmt"

	"github.com/taskrt/taskrt/runtime/wasmbin"
)

// These bound the nanoseconds that a compiler spends on work that is not linear in a module's size, as package effort
// estimates them: for one function, and for all functions. Real modules stay far below (a test says how far). A
// module within the bounds is compiled within seconds.
const (
	maxEffort    = 250_000_000
	effortFactor = 16 // in all: that many functions
)

// weigh refuses a function that would cost too much, alone or together with the functions before it.
func (w *rewriter) weigh(r *wasmbin.Reader) {
	if r.Err != nil {
		return
	}
	cost, what := w.code.effort.Total()
	w.result.Effort += cost
	limit, of := w.code.tuning.effort, "this function"
	if cost <= limit {
		cost, limit, of = w.result.Effort, effortFactor*limit, "the functions up to this"
	}
	if cost <= limit {
		return
	}
	r.Err = &wasmbin.Error{
		Reason: wasmbin.TooMany, Offset: r.Pos, Where: r.Where, Limit: limit,
		Message: fmt.Sprintf("compiling %s would take about %d ms for %s, more than %d", of, cost/1e6, what, limit/1e6),
	}
}

// calls notes that a function of a type is called.
func (w *rewriter) calls(t wasmbin.FuncType) {
	if !w.code.dead {
		w.code.effort.Call(len(t.Params) + len(t.Results))
	}
}

func (w *rewriter) callsType(i uint32) {
	if int64(i) < int64(w.parsed.Types()) {
		w.calls(w.parsed.Type(int(i)))
	}
}
