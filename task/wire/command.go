package wire

import (
	"fmt"

	"github.com/taskrt/taskrt/task"
)

// appendBody encodes a command without the library, or else by it. It refuses a command that no entry can hold.
func appendBody(b []byte, c task.Command) ([]byte, error) {
	if after, ok := appendCommand(b, c); ok {
		return after, nil
	}
	if n := longest(c); n > maxArray {
		return b, fmt.Errorf("a list of %d elements is too long for the log", n)
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
