package wall

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Plan says what a process still needs behind its wall. It goes on with all files and sockets that it has open.
type Plan struct {
	// Reads are directories below which the process opens files for reading. A directory that is not there cannot be opened later.
	Reads []string
	// Writes are directories below which the process also makes, changes and removes files. Without one the process opens no file for
	// writing anywhere.
	Writes []string
	// Files is how many files may be open at the same time; 0: as many as before.
	Files uint64
}

// These are the parts of a wall, as State names them.
const (
	NoNewPrivileges = "no_new_privs" // no program that the process might start gets more rights than it has
	NotDumpable     = "not_dumpable" // no core; no process of the same user reads its memory
	NoCore          = "no_core"      // RLIMIT_CORE is 0
	Seccomp         = "seccomp"      // only system calls of the list
	Landlock        = "landlock"     // no paths but those of the Plan

	// MemoryCgroup is the only part that the parent raises: a cgroup of the process's own has a limit of memory.
	MemoryCgroup = "memory_cgroup"
)

// State says which parts of a wall are in force. A process tells its state as it has read it back from the kernel.
type State struct {
	InForce []string `json:"in_force,omitempty"`
	// Missing says of each part that is not in force why: "landlock: not supported by this kernel".
	Missing []string `json:"missing,omitempty"`
	// OOMKills is how often the kernel has ended such a process of this parent because its cgroup needed more memory than it may have.
	OOMKills int64 `json:"oom_kills,omitempty"`
}

// NoteCgroup adds the part that the parent has raised, or why the process is in no cgroup of its own; "": it is in one.
func (s *State) NoteCgroup(lacks string, kills int64) {
	var missing error
	if lacks != "" {
		missing = errors.New(lacks)
	}
	s.note(MemoryCgroup, missing)
	s.OOMKills = kills
}

// Prove is Confirm for a caller that wants no process behind another wall than the process says.
func Prove(pid int, says State) (State, error) {
	seen, err := Confirm(pid, says)
	if err == nil && len(seen.InForce) != len(says.InForce) {
		err = fmt.Errorf("wall: the process says %q, the kernel says %q", says, seen)
	}
	return seen, err
}

// Words lists the parts that are in force, the missing ones with a minus, and how often the kernel has ended such a process.
func (s State) Words() []string {
	words := slices.Clone(s.InForce)
	for _, m := range s.Missing {
		part, _, _ := strings.Cut(m, ":")
		words = append(words, "-"+part)
	}
	if s.OOMKills > 0 {
		words = append(words, fmt.Sprintf("oom_kills=%d", s.OOMKills))
	}
	return words
}

// String returns the Words, with spaces between them.
func (s State) String() string { return strings.Join(s.Words(), " ") }

// note adds a part to the state: in force if err is nil.
func (s *State) note(part string, err error) {
	if err == nil {
		s.InForce = append(s.InForce, part)
		return
	}
	s.Missing = append(s.Missing, fmt.Sprintf("%s: %v", part, err))
}
