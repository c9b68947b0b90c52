package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// result is what one package's tests came to.
type result struct {
	output        strings.Builder
	ended, failed bool
}

// detectorDied reports whether the package failed by a fault of the race detector, and by nothing else that its output tells.
func (r *result) detectorDied() bool {
	all := r.output.String()
	return strings.Contains(all, "ThreadSanitizer: CHECK failed") && !strings.Contains(all, "DATA RACE") && !strings.Contains(all, "--- FAIL")
}

// results are the results of packages, by their import paths.
type results map[string]*result

// event is a line of go test -json (go doc test2json), as far as it is needed.
type event struct{ Action, Package, Test, Output string }

// read reads what go test -json writes. It shows on out what go test would show: of a package that passes the last line, of another one
// all that its tests printed, and what is no event as it is.
func (rs results) read(events io.Reader, out io.Writer) error {
	in := bufio.NewReader(events)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil {
				fmt.Fprintf(out, "%s", line)
			} else {
				rs.take(e, out)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (rs results) take(e event, out io.Writer) {
	if e.Package == "" { // of a build
		fmt.Fprint(out, e.Output)
		return
	}
	r := rs[e.Package]
	if r == nil {
		r = &result{}
		rs[e.Package] = r
	}
	r.output.WriteString(e.Output)
	if e.Test != "" {
		return
	}
	switch e.Action {
	case "output":
		if strings.HasPrefix(e.Output, "ok ") || strings.HasPrefix(e.Output, "? ") {
			fmt.Fprint(out, e.Output)
		}
	case "pass", "skip":
		r.ended = true
		r.output.Reset()
	case "fail":
		r.ended, r.failed = true, true
		fmt.Fprint(out, r.output.String())
	}
}
