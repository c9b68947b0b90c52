package bench

import (
	"os"
	"time"

	"github.com/taskrt/taskrt/internal/trio"
)

// cpuName is the figure's.
const cpuName = "CPU of a task"

// CPU tells what nodes and callers use per task: a figure that other work on the machine moves little.
type CPU struct {
	pids   []int
	before time.Duration
}

func (b *bed) cpuMeter() CPU {
	if b.cluster == nil {
		return CPU{} // the nodes may be anywhere
	}
	return MeterCPU(b.cluster.PIDs()...)
}

// MeterCPU begins to measure this process and others.
func MeterCPU(pids ...int) CPU {
	m := CPU{pids: append([]int{os.Getpid()}, pids...)}
	var err error
	if m.before, err = trio.CPU(m.pids...); err != nil {
		return CPU{}
	}
	return m
}

// PerTask is what was used since, in microseconds; 0: it is not known.
func (m CPU) PerTask(tasks int64) float64 {
	if m.pids == nil || tasks == 0 {
		return 0
	}
	now, err := trio.CPU(m.pids...)
	if err != nil {
		return 0 // one of them has ended
	}
	return float64((now - m.before).Microseconds()) / float64(tasks)
}

// figure is that, if it is known.
func (m CPU) figure(tasks int64) []value {
	if used := m.PerTask(tasks); used > 0 {
		return []value{{cpuName, "us", used}}
	}
	return nil
}
