// Package golist asks the go command about packages.
package golist

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/taskrt/taskrt/internal/leash"
)

// Packages returns what `go list` with these arguments, -json among them, prints when it runs in dir: a T for each package, in its order.
func Packages[T any](dir string, args ...string) ([]T, error) {
	cmd := leash.Command("go", append([]string{"list"}, args...)...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var all []T
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p T
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		all = append(all, p)
	}
}
