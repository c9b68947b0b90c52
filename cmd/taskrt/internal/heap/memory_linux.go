package heap

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// memory returns the bytes of memory that this process may use: the memory of the machine, or of its control group.
func memory() uint64 {
	var of unix.Sysinfo_t
	if unix.Sysinfo(&of) != nil {
		return 0
	}
	total := of.Totalram * uint64(of.Unit)
	if limit := groupLimit(os.ReadFile); limit > 0 {
		total = min(total, limit)
	}
	return total
}

// groupLimit returns the limit of the process's control group (version 2) and of all groups around it; 0: none.
func groupLimit(read func(string) ([]byte, error)) uint64 {
	own, err := read("/proc/self/cgroup")
	if err != nil {
		return 0
	}
	path, ok := strings.CutPrefix(strings.TrimSpace(string(own)), "0::/")
	if !ok {
		return 0
	}
	limit := uint64(0)
	for {
		if text, err := read(filepath.Join("/sys/fs/cgroup", path, "memory.max")); err == nil {
			if n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err == nil && (limit == 0 || n < limit) {
				limit = n
			}
		}
		if path == "" {
			return limit
		}
		path = path[:max(0, strings.LastIndexByte(path, '/'))]
	}
}
