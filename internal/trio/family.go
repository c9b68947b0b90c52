package trio

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Family is a process and all running processes that it has started; the process itself comes first. A node's guests are in a child
// of the node. Family reads Linux's /proc; on other systems it is the process alone.
func Family(pid int) []int {
	pids := []int{pid}
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // a child belongs to the thread that started it
	if err != nil {
		return pids
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		for _, field := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(field); err == nil && !slices.Contains(pids, child) {
				pids = append(pids, Family(child)...)
			}
		}
	}
	return pids
}

// Guests finds the process of a node's guests, given the node's process; false if there is none now.
func Guests(node int) (pid int, found bool) {
	for _, pid := range Family(node)[1:] {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if words := strings.Split(string(line), "\x00"); err == nil && len(words) > 1 && words[1] == "guests" {
			return pid, true
		}
	}
	return 0, false
}
