package task_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/taskrt/taskrt/task"
)

const benchRecords = 1_000_000

// fillRecords adds a million records of 64 bytes in ten groups, a tenth of them owned for a while.
func (x *bench) fillRecords() (perRecord float64) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	const each = 1_000
	for i := range benchRecords / each {
		adds := make([]task.StoreAdd, each)
		for j := range adds {
			adds[j] = task.StoreAdd{Group: fmt.Sprint("group", j%10), Data: string(make([]byte, 64))}
			if j%7 == 0 {
				adds[j].Available = -task.Time(1 + i*j)
			}
		}
		x.propose(task.StoreUpdate{Namespace: task.DefaultNamespace, Client: 1, Adds: adds})
		x.flush()
	}
	for range 300 { // the answers are no longer kept
		x.propose(task.Tick{})
	}
	x.flush()
	runtime.GC()
	runtime.ReadMemStats(&after)
	return float64(after.HeapAlloc-before.HeapAlloc) / benchRecords
}

// BenchmarkStore is a worker's way through a record, beside a million others: claim, renew, finish by deleting it and
// adding another. Between the entries the clock goes on.
func BenchmarkStore(b *testing.B) {
	x := newBench()
	perRecord := x.fillRecords()
	random := rand.New(rand.NewPCG(1, 1))
	claimed := func() *task.StoreRecord {
		x.h.Index++
		x.h.Now++
		rs, _ := x.m.Apply(x.h, []task.Proposal{{Command: task.StoreClaim{
			Namespace: task.DefaultNamespace, Client: 2, Group: fmt.Sprint("group", random.IntN(10)), Duration: 60_000, Seed: random.Uint64(),
		}}})
		return rs[0].Records[0]
	}
	update := func(c task.StoreUpdate) []*task.StoreRecord {
		x.h.Index++
		c.Namespace, c.Client = task.DefaultNamespace, 2
		rs, _ := x.m.Apply(x.h, []task.Proposal{{Command: c}})
		return rs[0].Records
	}
	b.ReportAllocs()
	for b.Loop() {
		r := claimed()
		r = update(task.StoreUpdate{Changes: []task.StoreChange{{ID: r.ID, Data: r.Data, Available: -60_000}}})[0]
		update(task.StoreUpdate{Deletes: []uint64{r.ID}, Adds: []task.StoreAdd{{Group: r.Group, Data: r.Data}}})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/3, "ns/command")
	b.ReportMetric(perRecord, "bytes/record")
}

// BenchmarkStoreFreeze freezes a million records.
func BenchmarkStoreFreeze(b *testing.B) {
	x := newBench()
	x.fillRecords()
	b.ReportAllocs()
	for b.Loop() {
		x.m.Freeze()
	}
}
