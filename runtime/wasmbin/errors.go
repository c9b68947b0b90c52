package wasmbin

import "fmt"

// Reason says what is wrong with a binary.
type Reason string

// These are the Reasons. Package runtime gives them to uploaders as codes.
const (
	NotWasm   Reason = "not_wasm"
	Component Reason = "component_binary"
	Truncated Reason = "truncated"
	Malformed Reason = "malformed"
	TooMany   Reason = "too_complex"

	BadSegment Reason = "bad_segment"

	Unsupported Reason = "unsupported_feature" // of WebAssembly
)

// Error is a refusal by Parse.
type Error struct {
	Reason  Reason
	Offset  int    // in the file
	Where   string // part of the module
	Message string
	Limit   int64 // for TooMany
}

func (e *Error) Error() string {
	if e.Where == "" {
		return fmt.Sprintf("%s (at byte %d)", e.Message, e.Offset)
	}
	return fmt.Sprintf("%s: %s (at byte %d)", e.Where, e.Message, e.Offset)
}
