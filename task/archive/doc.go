// Package archive is the form of an exported namespace (SPEC M5): JSON lines. A node writes the lines from a frozen state, and
// another cluster imports them. docs/namespaces.md describes them for people who read exports.
//
// Each line is an object with one member. The name of the member says what the line is. The first line is the header. The last line is the
// end, with the counts: a file without an end is not whole. Everything that a line needs stands before the line, blobs too. So a reader
// needs one pass.
package archive

import "fmt"

// The versions of the form. Format is the version that is written. The former version is read, too: it has fewer
// fields. Other versions are refused.
const (
	Format = 2
	oldest = 1
)

// MaxLine bounds a line in bytes. It is far above any record that the limits of the API allow.
const MaxLine = 16 << 20

// piece is how many bytes of a blob one line has.
const piece = 48 << 10

// The names of the lines' members.
const (
	lineHeader    = "header"
	lineNamespace = "namespace" // raw only
	lineModule    = "module"
	lineBehavior  = "behavior"
	lineOperation = "operation"
	lineInstance  = "instance" // raw only
	lineBlob      = "blob"     // followed by its bytes, but in a raw export
	lineBytes     = "bytes"
	lineTask      = "task"
	lineRecord    = "record"
	lineEnd       = "end"
	lineError     = "error" // stands instead of the end, and says why
)

// Error says what is wrong with an export, and where.
type Error struct {
	Line   int64 // from 1
	Field  string
	Reason string

	line bool // only this line is wrong: the lines behind it can be read
}

func (e *Error) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("line %d: %s", e.Line, e.Reason)
	}
	return fmt.Sprintf("line %d: %s: %s", e.Line, e.Field, e.Reason)
}
