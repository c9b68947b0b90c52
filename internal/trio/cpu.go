package trio

import (
	"fmt"
	"time"
)

// CPU is how much CPU time processes have used since they started, user and system, to the nanosecond. Figures in ticks of 10 ms
// would be zero for much of what is measured. Linux only.
func CPU(pids ...int) (sum time.Duration, err error) {
	for _, pid := range pids {
		used, err := used(pid)
		if err != nil {
			return 0, fmt.Errorf("CPU time of process %d: %w", pid, err)
		}
		sum += used
	}
	return sum, nil
}

// PIDs are the IDs of the processes that were started last, and of the processes of their guests.
func (c *Cluster) PIDs() (pids []int) {
	for _, n := range c.Nodes {
		if n.Cmd != nil && n.Cmd.Process != nil {
			pids = append(pids, n.Cmd.Process.Pid)
			if guests, found := Guests(n.Cmd.Process.Pid); found {
				pids = append(pids, guests)
			}
		}
	}
	return pids
}
