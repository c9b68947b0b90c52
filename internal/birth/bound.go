package birth

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/taskrt/taskrt/internal/durable"
)

// Bond is how a file stands to the record of a mark that lies beside it.
type Bond int

// A record that is not there yet binds to no file. A record of another file came with a copy.
const (
	Unbound Bond = iota
	Bound
	Copied
)

// Look compares an open file with a record of Bind.
func Look(record string, f *os.File) (Bond, error) {
	of, err := os.ReadFile(record)
	if errors.Is(err, fs.ErrNotExist) {
		return Unbound, nil
	} else if err != nil {
		return Unbound, err
	}
	mark, err := Of(f)
	switch {
	case err != nil:
		return Unbound, err
	case strings.TrimSpace(string(of)) == string(mark):
		return Bound, nil
	}
	return Copied, nil
}

// Bind writes the record of an open file, durably.
func Bind(record string, f *os.File) error {
	mark, err := Of(f)
	if err != nil {
		return err
	}
	return durable.WriteFile(record, []byte(mark+"\n"))
}
