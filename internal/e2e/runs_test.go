package e2e

import (
	"bufio"
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// execution is one span in which guest code of a task executed, stamped by the process that ran it.
type execution struct {
	Task    string `json:"task"`
	Attempt int64  `json:"attempt"`
	Token   uint64 `json:"token"`
	Begin   int64  `json:"begin_ns"`
	End     int64  `json:"end_ns"`
	PID     int    `json:"pid"`
	process string
}

// boottime is CLOCK_BOOTTIME in nanoseconds, the clock of the run logs.
func boottime(t testing.TB) int64 {
	t.Helper()
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		t.Fatal(err)
	}
	return ts.Nano()
}

// executions reads what a process wrote down. A span without an end ended, at the latest, when the process was seen dead.
func (p *process) executions() []execution {
	p.t.Helper()
	f, err := os.Open(filepath.Join(p.dir, "runs"))
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		p.t.Fatal(err)
	}
	defer f.Close()
	byToken := map[uint64]execution{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		e := execution{process: p.id}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			continue // the last line of a killed process may be torn
		}
		if e.Begin == 0 { // its process died, and another says when
			begun := byToken[e.Token]
			begun.End = e.End
			e = begun
		}
		if e.End != 0 || byToken[e.Token].End == 0 {
			byToken[e.Token] = e
		}
	}
	var out []execution
	for _, e := range byToken {
		for _, death := range p.deaths {
			if e.End == 0 && death >= e.Begin {
				e.End = death
			}
		}
		out = append(out, e)
	}
	return out
}

// checkNoOverlap demands SPEC L1 of everything that ran: no two executions of one task at the same moment, measured
// where guests run. It returns how many executions there were.
func (c *cluster) checkNoOverlap() int {
	c.t.Helper()
	byTask := map[string][]execution{}
	total := 0
	for _, p := range append(append([]*process{}, c.workers...), c.nodes...) {
		for _, e := range p.executions() {
			if e.End == 0 {
				c.t.Errorf("%s ran task %s (token %d) to no end", p.id, e.Task, e.Token)
			}
			byTask[e.Task] = append(byTask[e.Task], e)
			total++
		}
	}
	for id, es := range byTask {
		slices.SortFunc(es, func(a, b execution) int { return cmp.Compare(a.Begin, b.Begin) })
		for i := 1; i < len(es); i++ {
			if es[i].Begin < es[i-1].End {
				c.t.Errorf("task %s: %s (attempt %d) began %d ns before %s (attempt %d) had ended", id,
					es[i].process, es[i].Attempt, es[i-1].End-es[i].Begin, es[i-1].process, es[i-1].Attempt)
			}
			if es[i].Token <= es[i-1].Token {
				c.t.Errorf("task %s: token %d after %d", id, es[i].Token, es[i-1].Token)
			}
		}
	}
	return total
}
