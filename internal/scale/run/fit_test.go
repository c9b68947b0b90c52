package main

import (
	"math"
	"testing"

	"github.com/taskrt/taskrt/internal/scale"
)

// TestFit: costs that explain measurements without error are found, and what is known already is kept.
func TestFit(t *testing.T) {
	want := scale.Cost{Task: 12, Request: 60, Entry: 300, Send: 150, KiB: 10}
	var list []*measured
	for _, nodes := range []int{3, 5} {
		for _, batch := range []int{1, 10, 1000} {
			for _, groups := range []float64{1, 0.1, 0.001} {
				for _, size := range []int{256, 4096} {
					n := float64(nodes)
					used := want.Task + want.Request/n/float64(batch) + groups*(want.Entry+want.Send*(n-1)) + want.KiB*float64(size)/1024
					list = append(list, &measured{
						Work: scale.Work{Kind: scale.Submit, Callers: 1, Batch: batch, Params: size}, Nodes: nodes, Groups: groups, CPU: map[string]float64{leader: used},
					})
				}
			}
		}
	}
	near := func(got, want scale.Cost) bool {
		for _, d := range []float64{got.Task - want.Task, got.Request - want.Request, got.Entry - want.Entry, got.Send - want.Send, got.KiB - want.KiB} {
			if math.Abs(d) > 0.5 {
				return false
			}
		}
		return true
	}
	if got := rolesOf(list, nil).Leader; !near(got, want) {
		t.Errorf("%+v, not %+v", got, want)
	}
	known := holding(scale.Roles{Leader: scale.Cost{Task: 11}}, byTask)
	if got := rolesOf(list, known).Leader; got.Task != 11 {
		t.Errorf("%v is known, not %v", 11, got.Task)
	}
}

// TestLeast: of equal loads the one counts that was disturbed least.
func TestLeast(t *testing.T) {
	run := func(setting string, used float64) *measured {
		return &measured{Setting: setting, Work: submit(1), CPU: map[string]float64{leader: used}}
	}
	got := least([]*measured{run("a", 5), run("b", 3), run("a", 4), run("a", 6)})
	if len(got) != 2 || got[0].total() != 4 || got[1].total() != 3 {
		t.Errorf("%d: %v", len(got), got)
	}
}

// TestSettings: each setting of the check and of the calibration is one that the model knows, with processes on the CPUs where they are put.
func TestSettings(t *testing.T) {
	k, err := scale.Measured()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range append(checks(), calibration()...) {
		free := map[string]float64{}
		for _, role := range []string{leader, follower, callers, guests} {
			free[s.cpuList(role)] = float64(countCPUs(s.cpuList(role)))
		}
		c := s.cluster(1000, free, 1)
		leaders, followers := 0, 0
		for _, h := range c.Hosts {
			if h.Leader {
				leaders++
			}
			followers += h.Followers
		}
		if leaders != 1 || followers != s.nodeCount-1 {
			t.Errorf("%s: %+v", s.name, c.Hosts)
		}
		for _, w := range s.loads {
			if p, err := k.Predict(c, w); err != nil || p.Rate <= 0 {
				t.Errorf("%s: %s: %+v, %v", s.name, label(w), p, err)
			}
		}
	}
}
