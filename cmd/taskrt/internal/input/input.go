// Package input reads what command lines refer to: standard input, files, JSON.
package input

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// ErrTooLong says that a text is longer than it may be.
var ErrTooLong = errors.New("it is too long")

// Text returns what the value of a flag, or of an argument, stands for: standard input for -, a file's content
// for @FILE, else the value itself. A text of more than limit bytes is refused, because a text that was cut off would
// be another one.
func Text(s string, stdin io.Reader, limit int) (text []byte, err error) {
	switch {
	case s == "-":
		text, err = io.ReadAll(io.LimitReader(stdin, int64(limit)+1))
	case s != "" && s[0] == '@':
		text, err = readFile(s[1:], limit)
	default:
		text = []byte(s)
	}
	if err == nil && len(text) > limit {
		return nil, ErrTooLong
	}
	return text, err
}

// readFile reads at most limit+1 bytes.
func readFile(name string, limit int) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, int64(limit)+1))
}

// WhyNotJSON says what is wrong with a text that ought to be JSON, and where; nil: nothing.
func WhyNotJSON(text []byte) error {
	for _, mark := range []string{"\xff\xfe", "\xfe\xff"} {
		if bytes.HasPrefix(text, []byte(mark)) {
			return errors.New("it begins as UTF-16 does; JSON is UTF-8")
		}
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return errors.New("there is nothing in it")
	}
	var v json.RawMessage
	err := json.Unmarshal(text, &v)
	if bad, ok := errors.AsType[*json.SyntaxError](err); ok {
		before := text[:max(bad.Offset-1, 0)]
		line := bytes.Count(before, []byte("\n")) + 1
		column := len(before) - bytes.LastIndexByte(before, '\n')
		return fmt.Errorf("line %d, column %d: %w", line, column, err)
	}
	return err
}
