//go:build !linux

package wall

import (
	"errors"
	"runtime"
)

var errNotLinux = errors.New("not on " + runtime.GOOS)

// Raise does nothing here, and the State says so.
func Raise(Plan) (State, error) {
	var s State
	for _, part := range []string{NoNewPrivileges, NotDumpable, NoCore, Seccomp, Landlock} {
		s.note(part, errNotLinux)
	}
	return s, nil
}

// Close does nothing here.
func Close() error { return nil }

// Confirm believes what the process says: nothing is in force.
func Confirm(_ int, s State) (State, error) { return s, nil }
