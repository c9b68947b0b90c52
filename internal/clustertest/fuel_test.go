package clustertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/node"
	"github.com/taskrt/taskrt/task"
)

// fuelGuest says that it used params.fuel and had params.memory, and it ends as params.end says. With "limit" it ends out of fuel if it may
// use less.
func fuelGuest(ctx context.Context, j *Job) (string, error) {
	var params struct {
		Fuel, Memory int64
		End          string
	}
	if err := json.Unmarshal(j.Raw, &params); err != nil {
		return "", err
	}
	j.Fuel, j.Memory = params.Fuel, params.Memory
	switch params.End {
	case "limit":
		if j.Fuel > j.MaxFuel {
			return "", fmt.Errorf("%w: %d of %d", errOutOfFuel, j.Fuel, j.MaxFuel)
		}
	case "error":
		return "", errors.New("as it was told")
	case "hang":
		return "", j.Sleep(ctx, time.Hour)
	}
	return "", nil
}

// fuelOf lists the outcomes of a task's attempts, each with its fuel.
func fuelOf(t *api.Task) string {
	var list []string
	for _, a := range t.History {
		list = append(list, fmt.Sprint(a.Outcome, " ", a.FuelUsed))
	}
	return strings.Join(list, ", ")
}

// TestFuelIsRecorded: limits.fuel of a manifest reaches the guest. The fuel of an attempt is in the attempt's entry
// however it ended, unless its worker died. Every node has it, even after all nodes were away.
func TestFuelIsRecorded(t *testing.T) {
	Run(t, 3, Options{NoWorkers: true, Guest: fuelGuest, SessionTTL: ttl}, func(t *testing.T, c *Cluster) {
		wasm, _, err := Guest("echo")
		if err != nil {
			t.Fatal(err)
		}
		c.PushWasm(0, "", wasm, []byte(`{"behaviors":[
			{"name":"bounded","limits":{"fuel":1000}},
			{"name":"again","limits":{"fuel":1000},"on_exhausted":"retry","retry":{"max_attempts":2}},
			{"name":"free"}]}`))
		w1 := c.AddWorker("w1", 8)
		c.WorkersReady(1)
		hang := c.Submit(0, "free", `{"fuel":7,"end":"hang"}`)
		cancelled := c.Submit(1, "free", `{"fuel":8,"end":"hang"}`)
		c.Executing(hang)
		c.Executing(cancelled)
		ctx, stop := c.Context(patience)
		defer stop()
		if _, err := c.Node(2).Cancel(ctx, "", cancelled); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{
			cancelled: "CANCELLED 8",
			c.Submit(1, "bounded", `{"fuel":1000,"end":"limit"}`): "SUCCESS 1000",
			c.Submit(2, "bounded", `{"fuel":1001,"end":"limit"}`): "OUT_OF_FUEL 1001",
			c.Submit(0, "again", `{"fuel":1001,"end":"limit"}`):   "OUT_OF_FUEL 1001, OUT_OF_FUEL 1001",
			c.Submit(1, "free", `{"fuel":1,"end":"limit"}`):       "OUT_OF_FUEL 1", // there is no limit, so the guest gets 0
			c.Submit(2, "free", `{"fuel":5,"end":"error"}`):       "HANDLER_ERROR 5",
			c.Submit(0, "free", `{"fuel":9007199254740992}`):      "SUCCESS 9007199254740992",
			c.Submit(1, "free", `{}`):                             "SUCCESS 0",
		}
		for id := range want {
			c.Final(0, id)
		}
		w1.Stop() // it gives back tasks that do not end
		w2 := c.AddWorker("w2", 8)
		c.Executing(hang)
		w2.Kill()
		c.AddWorker("w3", 8)
		c.Until(0, hang, "attempt:2")
		c.Executing(hang)
		if _, err := c.Node(0).Cancel(ctx, "", hang); err != nil {
			t.Fatal(err)
		}
		want[hang] = "GIVEN_BACK 7, LOST 0, CANCELLED 7"
		c.Final(0, hang)
		for i := range c.Members {
			c.Kill(i)
		}
		for i := range c.Members {
			c.Start(i)
		}
		c.Leader()
		for id, fuel := range want {
			for i := range c.Members {
				if got := c.Wait(i, id, api.GetOptions{}); fuelOf(got) != fuel {
					t.Errorf("%s at node %d: %s, want %s", id, i, fuelOf(got), fuel)
				}
			}
		}
	})
}

// TestMemoryIsRecorded: from feature level 3 on the most memory of an attempt is in the attempt's entry, in whole pages. Below the level that
// alone is missing, and it does not come later (SPEC C9, U1).
func TestMemoryIsRecorded(t *testing.T) {
	var hold atomic.Bool
	hold.Store(true)
	o := Options{NoWorkers: true, Guest: fuelGuest, SessionTTL: ttl, Configure: func(_ int, cfg *node.Config) {
		cfg.Raft.HoldLevel, cfg.Raft.LevelAfter = hold.Load(), time.Minute
	}}
	Run(t, 3, o, func(t *testing.T, c *Cluster) {
		c.Push(0, "echo")
		c.AddWorker("w1", 8)
		c.WorkersReady(1)
		has := func(id string, bytes int64) {
			t.Helper()
			for i := range c.Members {
				h := c.Final(i, id).History
				if len(h) != 1 || h[0].Outcome != "SUCCESS" || h[0].FuelUsed != 5 || h[0].PeakMemoryBytes != bytes {
					t.Errorf("node %d: %+v, want %d bytes", i, h, bytes)
				}
			}
		}
		below := c.Submit(0, "echo", `{"fuel":5,"memory":65537}`)
		has(below, 0)
		hold.Store(false)
		for i := range c.Members {
			c.Stop(i)
			c.Start(i)
		}
		c.Eventually("the feature level is raised", func() bool {
			st, err := c.Node(c.Leader()).Cluster(t.Context())
			return err == nil && st.FeatureLevel.Level >= task.MemoryLevel
		})
		has(c.Submit(1, "echo", `{"fuel":5,"memory":65537}`), 2*task.PageBytes)
		has(below, 0)
	})
}

// TestEqualTasksUseEqualFuel: the fuel of a module depends on the module and its params, not on the node, the attempt
// or the length of its slices. With limits.fuel the module ends at this limit.
func TestEqualTasksUseEqualFuel(t *testing.T) {
	Run(t, 3, Options{Slots: 2, SessionTTL: ttl}, func(t *testing.T, c *Cluster) {
		c.Push(0, "conformance-wat")
		wasm, _, err := Guest("spin")
		if err != nil {
			t.Fatal(err)
		}
		c.PushWasm(0, "", wasm, []byte(`{"behaviors":[
			{"name":"spin","limits":{"fuel":1234567}, "on_exhausted":"retry","retry":{"max_attempts":2}}]}`))
		c.WorkersReady(3)
		var ids []string
		for i := range 12 { // all tasks are due at once, so all nodes are needed
			r := api.SubmitRequest{Behavior: "conformance-wat", ParamsBase64: []byte("sum equal"), Delay: new(api.Duration(time.Second))}
			if i >= 6 {
				r.ParamsBase64 = []byte("sum equal to each other, and more than the others")
			}
			ids = append(ids, c.SubmitRequest(i%3, r).Task.ID)
		}
		var used [2]map[int64]int
		where := map[string]bool{}
		for i, id := range ids {
			done := c.Final(0, id)
			if done.Status != "SUCCESS" || len(done.History) != 1 {
				t.Fatalf("%s", Show(done))
			}
			if used[i/6] == nil {
				used[i/6] = map[int64]int{}
			}
			used[i/6][done.History[0].FuelUsed]++
			where[done.History[0].Node] = true
		}
		less, more := slices.Collect(maps.Keys(used[0])), slices.Collect(maps.Keys(used[1]))
		if len(less) != 1 || len(more) != 1 || less[0] <= 0 || more[0] <= less[0] || len(where) < 3 {
			t.Errorf("times of fuel used: %v, on %v", used, where)
		}
		const want = "OUT_OF_FUEL 1234567, OUT_OF_FUEL 1234567"
		if done := c.Final(1, c.Submit(2, "spin", `1`)); fuelOf(done) != want || done.Error.Code != "OUT_OF_FUEL" {
			t.Errorf("%s, want %s: %+v", fuelOf(done), want, done.Error)
		}
	})
}
