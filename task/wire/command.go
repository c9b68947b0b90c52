package wire

import (
	"fmt"

	"github.com/taskrt/taskrt/task"
)

// kindFor returns the kind of a command that can be in a log entry.
func kindFor(c task.Command) (uint64, error) {
	kind, err := kindOf(c)
	if n := longest(c); err == nil && n > maxArray {
		err = fmt.Errorf("a list of %d elements is too long for the log", n)
	}
	return kind, err
}

// appendBody encodes a command without the library, or else by it.
func appendBody(b []byte, c task.Command) ([]byte, error) {
	if after, ok := appendCommand(b, c); ok {
		return after, nil
	}
	return appendByLibrary(b, c)
}

func decode[C task.Command](b []byte) (task.Command, []byte, error) {
	var c C
	rest, err := cborModes.strict.UnmarshalFirst(b, &c)
	if err != nil {
		return nil, nil, malformed(err)
	}
	return c, rest, nil
}
