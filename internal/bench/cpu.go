package bench

import (
	"os"
	"time"

	"github.com/taskrt/taskrt/internal/trio"
)

// cpuName is the name of the figure.
const cpuName = "CPU of a task"

// CPU tells how much CPU nodes and callers use per task. Other work on the machine moves this figure little.
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

// PerTask is the CPU used since MeterCPU for each of tasks tasks, in microseconds; 0: it is not known.
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

// figure is PerTask as a figure, if it is known.
func (m CPU) figure(tasks int64) []value {
	if used := m.PerTask(tasks); used > 0 {
		return []value{{cpuName, "us", used}}
	}
	return nil
}
