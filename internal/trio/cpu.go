package trio

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of times in /proc/PID/stat: USER_HZ, which is 100 wherever Linux runs Go.
const tick = 10 * time.Millisecond

// CPU is what processes have used since they started, user and system. It reads Linux's /proc.
func CPU(pids ...int) (sum time.Duration, err error) {
	for _, pid := range pids {
		file := fmt.Sprintf("/proc/%d/stat", pid)
		text, err := os.ReadFile(file)
		if err != nil {
			return 0, fmt.Errorf("CPU time is read from Linux's /proc: %w", err)
		}
		used, err := usedTicks(string(text))
		if err != nil {
			return 0, fmt.Errorf("%s: %w", file, err)
		}
		sum += time.Duration(used) * tick
	}
	return sum, nil
}

// usedTicks finds utime and stime, fields 14 and 15. The second, the name in parentheses, may hold spaces.
func usedTicks(stat string) (int64, error) {
	end := strings.LastIndexByte(stat, ')')
	fields := strings.Fields(stat[end+1:])
	if end < 0 || len(fields) < 13 {
		return 0, errors.New("not as long as it should be")
	}
	user, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseInt(fields[12], 10, 64)
	return user + system, err
}

// PIDs are those of the processes that were started last.
func (c *Cluster) PIDs() (pids []int) {
	for _, n := range c.Nodes {
		if n.Cmd != nil && n.Cmd.Process != nil {
			pids = append(pids, n.Cmd.Process.Pid)
		}
	}
	return pids
}
