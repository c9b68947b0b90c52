// Package archive is the form of an exported namespace (SPEC M5): JSON lines that a frozen state is written as, and that
// another cluster takes up. docs/namespaces.md describes them for whoever reads them.
//
// Each line is an object with one member, whose name says what it is. The first is the header, the last the end with the
// counts: a file without it is not whole. What a line needs stands before it, blobs too: a reader needs one pass.
package archive

import "fmt"

// Format is the version of the form that is written. The former one is read, too: it has fewer fields. Others are refused.
const (
	Format = 2
	oldest = 1
)

// MaxLine bounds a line in bytes: far above any record that the limits of the API allow.
const MaxLine = 16 << 20

// piece is how many bytes of a blob one line has.
const piece = 48 << 10

// The members that lines are called by.
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
	lineError     = "error" // instead of the end: why there is none
)

// Error says what is wrong with an export, and where.
type Error struct {
	Line   int64 // from 1
	Field  string
	Reason string

	line bool // it is about that line alone: those behind it can be read
}

func (e *Error) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("line %d: %s", e.Line, e.Reason)
	}
	return fmt.Sprintf("line %d: %s: %s", e.Line, e.Field, e.Reason)
}
