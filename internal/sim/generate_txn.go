package sim

import (
	"slices"
	"strconv"

	"github.com/taskrt/taskrt/task"
)

// txn makes a transaction of a few parts, mostly of different tasks, and mostly with conditions that are true.
func (g *generator) txn(r *Run) Op {
	o := Op{Verb: "txn"}
	o.NS = g.namespace()
	for _, ns := range r.spaces(task.NamespaceIsActive, task.NamespaceIsInactive) {
		if r.model.Spaces[ns].Quota != (task.Quota{}) && g.percent(g.more(onSpaces, 10)) {
			o.NS = ns
			for _, name := range slices.Concat(behaviors, externals) {
				if r.model.Behaviors[task.Key{Namespace: ns, ID: name}] != nil {
					o.Parts = []Part{{Kind: "submit", Op: Op{NS: ns, ID: pick(g, ids), Behavior: name, Priority: 4, Params: g.text("p")}}}
				}
			}
			if len(o.Parts) > 0 {
				return o
			}
		}
	}
	used := map[string]bool{}
	for range 1 + g.rng.IntN(4) {
		kind := pick(g, []string{"depend", "submit", "update", "finish", "delete"})
		p := g.part(r, kind)
		p.NS = o.NS
		if kind != "depend" {
			if used[p.ID] && g.percent(90) {
				continue
			}
			used[p.ID] = true
		}
		o.Parts = append(o.Parts, p)
	}
	if len(o.Parts) == 0 {
		o.Parts = []Part{g.part(r, "submit")}
	}
	return o
}

func (g *generator) part(r *Run, kind string) Part {
	p := Part{Kind: kind, Op: g.task("")}
	switch kind {
	case "submit":
		p.Op = g.submit(r)
		if p.If > task.Fail && g.percent(95) {
			p.If = task.IfExists(g.rng.IntN(2))
		}
		if p.Existing = false; len(g.parts) > 0 && g.percent(6) {
			of := pick(g, g.parts)
			p.NS, p.ID = shortNS(of.Namespace), of.Parent+":7"
		}
		return p
	case "finish":
		p.Op = g.finish(r)
		p.Report = 0
		return p
	case "update":
		p.Priority = int8(g.rng.IntN(20)) - 10
		switch g.rng.IntN(4) {
		case 0:
			p.At = g.wall + task.Time(g.rng.Int64N(3000)) - 500
		case 1:
			p.Delay = task.Millis(1 + g.rng.Int64N(2000))
		}
		if g.percent(30) {
			p.Deadline = g.wall + task.Time(g.rng.Int64N(8000))
		} else {
			p.On = g.percent(20)
		}
		if g.percent(30) {
			p.Label = pick(g, behaviors)
		}
		if g.percent(40) {
			p.Params, p.Key = g.text("p"), pick(g, keys)
			if t := r.model.Tasks[p.key()]; t != nil && g.percent(50) {
				p.Behavior, p.Valid = t.Behavior, 1+g.rng.IntN(8)/4
			}
		}
	}
	t := r.model.Tasks[p.key()]
	if t != nil && g.percent(50) {
		if p.Age = 1; g.percent(15) {
			p.Age++
		}
	}
	if kind == "depend" && t != nil && g.percent(40) {
		if p.Attempt = t.Attempt; g.percent(35) {
			p.Attempt--
		}
	}
	return p
}

var (
	groups = []string{"map", "reduce", "a/b"}
)

// storeUpdate changes the records of the TaskStore.
func (g *generator) storeUpdate(r *Run) Op {
	o := Op{Verb: "change", Client: g.rng.Int64N(3), NS: g.storeNamespace()}
	for _, ns := range r.spaces(task.NamespaceIsActive) {
		if r.model.Spaces[ns].Quota != (task.Quota{}) && g.percent(g.more(onSpaces, 10)) {
			o.NS = ns
		}
	}
	for range 1 + g.rng.IntN(4) {
		p := Part{Kind: pick(g, []string{"add", "add", "change", "delete", "depend"})}
		switch p.Record = g.record(r); p.Kind {
		case "add":
			p.Record, p.Group = 0, pick(g, groups)
			fallthrough
		case "change":
			g.records++
			p.Data = strconv.Itoa(g.records)
			if g.percent(15) {
				p.Params = g.referring()
				if !g.percent(5) { // data and a blob at once is no form of a record
					p.Data = ""
				}
			}
			switch g.rng.IntN(4) {
			case 0:
				p.At = -task.Time(g.rng.Int64N(3000))
			case 1:
				p.At = g.wall + task.Time(g.rng.Int64N(4000)) - 1000
			}
		}
		o.Parts = append(o.Parts, p)
	}
	return o
}

func (g *generator) storeNamespace() string {
	return g.namespace()
}

// record numbers a record, mostly an existing record.
func (g *generator) record(r *Run) int {
	n := len(r.symbols.records)
	for range 4 {
		i := g.rng.IntN(n + 1)
		if i < n && r.model.Records[r.symbols.records[i]] != nil || g.percent(8) {
			return i + 1
		}
	}
	return n + 1
}

func (g *generator) claim(r *Run) Op {
	o := Op{Verb: "claim", Client: g.rng.Int64N(3), NS: g.storeNamespace(), Group: pick(g, groups), Seed: g.rng.Uint64()}
	o.For = task.Millis(g.rng.Int64N(4000)) - 500
	if g.percent(25) {
		o.Parts = []Part{{Kind: "depend", Op: Op{Record: g.record(r)}}}
	}
	return o
}
