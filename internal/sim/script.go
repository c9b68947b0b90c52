package sim

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// A script is a run as text: a line `entry {…}` for the header of an entry, then a line `verb {…}` for each of its
// operations; lines that start with # are comments.

// Format writes steps as a script.
func Format(steps []Step) string {
	var b strings.Builder
	line := func(verb string, v any) {
		j, err := json.Marshal(v)
		if err != nil {
			panic(err) // plain structs
		}
		fmt.Fprintf(&b, "%s %s\n", verb, j)
	}
	for _, s := range steps {
		line("entry", s)
		for _, o := range s.Ops {
			line(o.Verb, o)
		}
	}
	return b.String()
}

// Parse reads a script.
func Parse(r io.Reader) ([]Step, error) {
	var steps []Step
	in := bufio.NewScanner(r)
	in.Buffer(nil, 1<<20)
	for n := 1; in.Scan(); n++ {
		text := strings.TrimSpace(in.Text())
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		verb, rest, _ := strings.Cut(text, " ")
		var into any
		if verb == "entry" {
			steps = append(steps, Step{})
			into = &steps[len(steps)-1]
		} else {
			if len(steps) == 0 {
				return nil, fmt.Errorf("line %d: %s before the first entry", n, verb)
			}
			s := &steps[len(steps)-1]
			s.Ops = append(s.Ops, Op{Verb: verb})
			into = &s.Ops[len(s.Ops)-1]
		}
		d := json.NewDecoder(bytes.NewReader([]byte(rest)))
		d.DisallowUnknownFields()
		if err := d.Decode(into); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	return steps, in.Err()
}
