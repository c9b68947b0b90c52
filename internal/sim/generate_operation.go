package sim

import "github.com/taskrt/taskrt/task"

var (
	operations = []string{"op-0", "op-1", "op-2"}
	targets    = []string{"", "table"}
	objects    = []string{"", "left", "right"}
)

// operationPolicy makes operation{} of a manifest. The other behaviors that it names are of the same module.
func (g *generator) operationPolicy(of []Policy) *task.OperationPolicy {
	p := &task.OperationPolicy{Concurrency: task.Concurrency(g.rng.IntN(3)), RunAll: g.percent(40), Restart: g.percent(30)}
	if g.percent(30) {
		p.Incompatible = []string{pick(g, behaviors)}
	}
	if g.percent(60) {
		p.Complete = pick(g, of).Name
	}
	if g.percent(60) {
		p.Cleanup = pick(g, of).Name
	}
	return p
}

func (g *generator) startOperation(r *Run) Op {
	o := Op{
		Verb: "start", NS: g.namespace(), ID: pick(g, operations), Behavior: pick(g, behaviors), Target: pick(g, targets),
		Object: pick(g, objects), Partitions: 1 + g.rng.Int64N(4), Named: g.percent(30), Priority: int8(g.rng.IntN(10)),
	}
	o.Trace = g.traced()
	for range 3 { // mostly an ID that is free, and a behavior that can be an operation
		k := o.key()
		if v := r.model.Version(&task.Task{Namespace: k.Namespace, Behavior: o.Behavior}, ""); v == nil || v.Policy.Operation == nil {
			o.Behavior = pick(g, behaviors)
		}
		if r.model.Operations[k] != nil {
			o.ID = pick(g, operations)
		}
	}
	if g.percent(g.more(onOperations, 10)) {
		o.Partitions = 4 + g.rng.Int64N(6) // more than an entry makes
	}
	if g.percent(2) {
		o.Partitions = 0
	}
	if g.percent(2) {
		o.Behavior = pick(g, externals)
	}
	if g.percent(25) {
		o.Valid = 1 + g.rng.IntN(8)/7
	}
	if g.percent(50) {
		o.Params = g.text("arg")
	}
	if g.percent(6) {
		o.Params = g.referring()
	}
	if g.percent(30) {
		o.Label = pick(g, behaviors)
	}
	return o
}

// operation cancels, retries or removes an operation, mostly in a state in which this does something.
func (g *generator) operation(r *Run) Op {
	o := Op{Verb: pick(g, []string{"op-cancel", "op-retry", "op-retry", "op-remove"}), NS: g.namespace(), ID: pick(g, operations)}
	for _, x := range allOperations(r.Machine()) {
		if g.percent(60) {
			o.NS, o.ID = shortNS(x.Namespace), x.ID
			if x.Status == task.OperationFailure && g.percent(70) {
				o.Verb = "op-retry"
			}
		}
	}
	return o
}
