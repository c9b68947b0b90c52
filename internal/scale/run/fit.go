package main

import (
	"fmt"
	"math"

	"github.com/taskrt/taskrt/internal/scale"
)

// The columns of what is explained: the fields of scale.Cost, in their order.
const (
	byTask = iota
	byRequest
	byEntry
	bySend
	byKiB
	columns
)

// held are costs that are known already, by role and column.
type held map[string]map[int]float64

// rolesOf finds the costs that best explain what was measured, beside the costs that are known.
func rolesOf(list []*measured, known held) scale.Roles {
	var r scale.Roles
	for _, part := range []struct {
		role string
		cost *scale.Cost
	}{{leader, &r.Leader}, {follower, &r.Follower}, {callers, &r.Callers}, {guests, &r.Guests}} {
		var rows [][]float64
		var want []float64
		for _, m := range list {
			row, used := m.row(part.role)
			if used > 0 {
				rows, want = append(rows, row), append(want, used)
			}
		}
		x := explain(rows, want, known[part.role])
		*part.cost = scale.Cost{Task: round(x[byTask]), Request: round(x[byRequest]), Entry: round(x[byEntry]), Send: round(x[bySend]), KiB: round(x[byKiB])}
	}
	for _, m := range list {
		if m.Sent > 0 {
			r.Bytes = math.Round(max(0, m.Sent/float64(m.Nodes-1)-float64(m.Work.Params)))
		}
	}
	return r
}

// row says how often each cost arises in a task, for one process of a role, and what the process used.
func (m *measured) row(role string) (row []float64, used float64) {
	n, row, used := float64(m.Nodes), make([]float64, columns), m.CPU[role]
	requests := 1 / n / float64(max(1, m.Work.Batch))
	row[byTask], row[byRequest], row[byEntry], row[byKiB] = 1, requests, m.Groups, float64(m.Work.Params)/1024
	switch role {
	case leader:
		row[bySend] = m.Groups * (n - 1)
	case follower:
		used /= n - 1
	case callers:
		row[byRequest] *= n
	case guests:
		row[byRequest] = 0
		if m.Work.Kind != scale.Submit && m.Groups > 0 { // each node has a worker, which gets a part of a group
			row[byEntry] *= min(n, max(1, 2/m.Groups))
		}
	}
	if m.Work.Kind == scale.Drain { // groups are always as large as they get, and nobody asks
		row[byRequest] = 0
		if role != guests {
			row[byEntry] = 0
		}
	}
	return row, used
}

// holding makes the costs of some columns of all roles known.
func holding(r scale.Roles, list ...int) held {
	known := held{}
	for role, c := range map[string]scale.Cost{leader: r.Leader, follower: r.Follower, callers: r.Callers, guests: r.Guests} {
		all := []float64{c.Task, c.Request, c.Entry, c.Send, c.KiB}
		known[role] = map[int]float64{}
		for _, column := range list {
			known[role][column] = all[column]
		}
	}
	return known
}

func round(x float64) float64 { return math.Round(x*10) / 10 }

// explain finds factors that are not negative, so that rows times factors are near want: the sum of the squares of relative errors is least. It goes
// along one axis after the other, but not along axes that are known.
func explain(rows [][]float64, want []float64, known map[int]float64) []float64 {
	x := make([]float64, columns)
	for j, v := range known {
		x[j] = v
	}
	for range 20_000 {
		for j := range x {
			if _, fixed := known[j]; fixed {
				continue
			}
			up, down := 0.0, 0.0
			for i, row := range rows {
				rest := want[i] + row[j]*x[j]
				for k, v := range row {
					rest -= v * x[k]
				}
				up += row[j] * rest / (want[i] * want[i])
				down += row[j] * row[j] / (want[i] * want[i])
			}
			if down > 0 {
				x[j] = max(0, up/down)
			}
		}
	}
	return x
}

// least keeps of equal loads the run that used the least CPU time: other work on the machine only adds to it.
func least(list []*measured) (kept []*measured) {
	best := map[string]*measured{}
	var order []string
	for _, m := range list {
		key := fmt.Sprint(m.Setting, label(m.Work))
		if best[key] == nil {
			order = append(order, key)
		}
		if best[key] == nil || m.total() < best[key].total() {
			best[key] = m
		}
	}
	for _, key := range order {
		kept = append(kept, best[key])
	}
	return kept
}

func (m *measured) total() (sum float64) {
	for _, used := range m.CPU {
		sum += used
	}
	return sum
}
