package main

import (
	"fmt"
	"runtime"
	"time"

	"github.com/taskrt/taskrt/internal/scale"
)

// The roles of processes.
const (
	leader   = "leader"
	follower = "followers"
	callers  = "callers"
	guests   = "guests"
)

// echo is the guest: it answers with its params.
const echo = "testdata/wasm/echo.wasm"

// setting is a cluster to measure, and what is asked of it.
type setting struct {
	name string

	nodeCount   int
	memory      bool          // logs are in memory
	sync        time.Duration // each sync takes longer by that
	delay       time.Duration // what one node sends to another arrives later by that
	mbit        float64       // what a node can send, by tbf
	workerCount int           // processes of taskrt worker; none: the nodes run tasks
	slots       int           // of each worker, or node
	pins        []pinned      // processes that do not run where they like
	loads       []scale.Work
	tasks       int // of a drain

	binary string
}

// pinned says on which CPUs a role runs.
type pinned struct{ role, cpus string }

func submit(callers int) scale.Work {
	return scale.Work{Kind: scale.Submit, Callers: callers, Params: 256}
}

func bulk(callers, batch int) scale.Work {
	return scale.Work{Kind: scale.Submit, Callers: callers, Batch: batch, Params: 256}
}

func run(callers int) scale.Work { return scale.Work{Kind: scale.Run, Callers: callers, Params: 256} }

var drain = scale.Work{Kind: scale.Drain, Params: 256}

func byHTTP(w scale.Work) scale.Work { w.HTTP = true; return w }

func params(bytes int, w scale.Work) scale.Work { w.Params = bytes; return w }

// calibration is what costs are taken from. Each setting is a new cluster: what was submitted before would be in its snapshots.
func calibration() []setting {
	three := func(name string, loads ...scale.Work) setting {
		return setting{name: name, nodeCount: 3, tasks: 20_000, loads: loads}
	}
	five := func(name string, loads ...scale.Work) setting {
		return setting{name: name, nodeCount: 5, tasks: 20_000, loads: loads}
	}
	return []setting{
		three("submits", submit(1), submit(4), submit(16), submit(64)),
		three("submits by many", submit(256)),
		three("submits of 4 KiB", params(4096, submit(64))),
		three("small batches", bulk(4, 10), bulk(4, 100)),
		three("large batches", bulk(4, 1000)),
		three("batches of 4 KiB", params(4096, bulk(4, 100))),
		three("by HTTP", byHTTP(submit(1)), byHTTP(submit(4)), byHTTP(submit(16)), byHTTP(submit(64))),
		three("by HTTP, many", byHTTP(submit(256))),
		three("by HTTP, 4 KiB", params(4096, byHTTP(submit(64)))),
		three("runs", run(1), run(4), run(16)),
		three("runs by many", run(100), run(256)),
		three("runs of 4 KiB", params(4096, run(100))),
		three("drain", drain),
		three("drain of 4 KiB", params(4096, drain)),
		five("5 nodes", submit(1), submit(16), submit(64)),
		five("5 nodes, batches", bulk(4, 100)),
		five("5 nodes, by HTTP", byHTTP(submit(16)), byHTTP(submit(64))),
		five("5 nodes, runs", run(16), run(100)),
		five("5 nodes, drain", drain),
		{name: "bytes on the wire", nodeCount: 3, mbit: 1000, tasks: 20_000, loads: []scale.Work{submit(64), byHTTP(submit(64)), run(100), drain}},
	}
}

// checks are the settings of the table in docs/scale.md.
func checks() []setting {
	all := func(cpus string) []pinned {
		return []pinned{{leader, cpus}, {follower, cpus}, {guests, cpus}, {callers, cpus}}
	}
	return []setting{
		{name: "3 nodes, all on two cores", nodeCount: 3, tasks: 40_000, loads: []scale.Work{
			submit(1), submit(16), submit(256), byHTTP(submit(256)), bulk(4, 1000), run(1), run(100), drain,
		}},
		{name: "all on one core", nodeCount: 3, pins: all("0"), tasks: 20_000, loads: []scale.Work{submit(1), submit(16), submit(256), run(100), drain}},
		{name: "the leader on a core of its own, all else on another", nodeCount: 3, pins: []pinned{{leader, "0"}, {follower, "1"}, {guests, "1"}, {callers, "1"}}, loads: []scale.Work{
			submit(16), submit(256), bulk(4, 1000), run(100),
		}},
		{name: "logs in memory", nodeCount: 3, memory: true, tasks: 40_000, loads: []scale.Work{submit(1), submit(16), submit(256), drain}},
		{name: "each sync 5 ms longer", nodeCount: 3, sync: 5 * time.Millisecond, tasks: 40_000, loads: []scale.Work{submit(1), submit(16), submit(256), run(100), drain}},
		{name: "round trips of 10 ms between nodes", nodeCount: 3, delay: 5 * time.Millisecond, tasks: 40_000, loads: []scale.Work{submit(1), submit(16), submit(256), run(100), drain}},
		{name: "round trips of 50 ms", nodeCount: 3, delay: 25 * time.Millisecond, loads: []scale.Work{submit(16), submit(256), run(100)}},
		{name: "nodes send 20 Mbit/s", nodeCount: 3, mbit: 20, tasks: 20_000, loads: []scale.Work{submit(256), params(4096, submit(256)), drain}},
		{name: "5 nodes, all on two cores", nodeCount: 5, tasks: 40_000, loads: []scale.Work{submit(1), submit(16), submit(256), bulk(4, 1000), run(100), drain}},
		{name: "1 worker of 4 slots", nodeCount: 3, workerCount: 1, slots: 4, tasks: 20_000, loads: []scale.Work{drain}},
		{name: "10 workers", nodeCount: 3, workerCount: 10, slots: 4, tasks: 20_000, loads: []scale.Work{run(100), drain}},
		{name: "50 workers", nodeCount: 3, workerCount: 50, slots: 4, tasks: 20_000, loads: []scale.Work{run(100), drain}},
		{name: "200 workers", nodeCount: 3, workerCount: 200, slots: 4, tasks: 20_000, loads: []scale.Work{run(100), drain}},
	}
}

// cpuList is the CPUs of a role in a setting.
func (s *setting) cpuList(role string) string {
	for _, p := range s.pins {
		if p.role == role {
			return p.cpus
		}
	}
	return everyCPU()
}

func everyCPU() string { return fmt.Sprintf("0-%d", runtime.NumCPU()-1) }

// cluster is the model's view of a setting.
func (s *setting) cluster(write time.Duration, free map[string]float64, speed float64) scale.Cluster {
	c := scale.Cluster{Nodes: s.nodeCount, Write: write, RTT: 2 * s.delay, Mbit: s.mbit, Workers: s.nodeCount, Slots: 4 * runtime.NumCPU(), Speed: speed}
	if s.workerCount > 0 {
		c.Workers = s.workerCount
	}
	if s.slots > 0 {
		c.Slots = s.slots
	}
	hosts := map[string]*scale.Host{}
	var order []string
	host := func(role string) *scale.Host {
		cpus := s.cpuList(role)
		if hosts[cpus] == nil {
			hosts[cpus] = &scale.Host{Name: "CPU " + cpus, Cores: free[cpus]}
			order = append(order, cpus)
		}
		return hosts[cpus]
	}
	host(leader).Leader = true
	host(follower).Followers = s.nodeCount - 1
	host(callers).Callers = 1
	host(guests).Guests = 1
	for _, cpus := range order {
		c.Hosts = append(c.Hosts, *hosts[cpus])
	}
	return c
}

// label names what is asked.
func label(w scale.Work) string {
	text := fmt.Sprintf("%s, %d callers", w.Kind, w.Callers)
	if w.Callers == 1 {
		text = fmt.Sprintf("%s, 1 caller", w.Kind)
	}
	if w.Kind == scale.Drain {
		text = string(w.Kind)
	}
	if w.Batch > 1 {
		text += fmt.Sprintf(", batches of %d", w.Batch)
	}
	if w.HTTP {
		text += ", HTTP"
	}
	if w.Params != 256 {
		text += fmt.Sprintf(", %d bytes", w.Params)
	}
	return text
}
