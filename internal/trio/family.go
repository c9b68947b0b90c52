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
		if Executes(pid, "guests") {
			return pid, true
		}
	}
	return 0, false
}

// Executes says whether a process executes this command of taskrt. A process that has ended executes nothing.
func Executes(pid int, command string) bool {
	words := CommandLine(pid)
	return len(words) > 1 && words[1] == command
}

// CommandLine returns the command line of a process; none if the process has ended.
func CommandLine(pid int) []string {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || len(line) == 0 {
		return nil
	}
	return strings.Split(string(line), "\x00")
}
