package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"

	"github.com/taskrt/taskrt/api/internal/scan"
)

// CheckJSON returns nil if body is one valid JSON text that is not too deep. A reader may then walk through body without
// checking it.
func CheckJSON(body []byte) *Error {
	if valid, _ := scan.Valid(body); valid {
		return nil
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return NewError(CodeInvalidJSON, "the body is empty")
	}
	if !utf8.Valid(body) {
		return NewError(CodeInvalidJSON, "the body is not valid UTF-8")
	}
	if scan.TooDeep(body) {
		e := NewError(CodeInvalidJSON, "nested deeper than %d levels", scan.MaxDepth)
		e.Limit = scan.MaxDepth
		return e
	}
	var v json.RawMessage
	err := json.Unmarshal(body, &v)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		line, column := position(body, syntax.Offset)
		return NewError(CodeInvalidJSON, "line %d, column %d: %s", line, column, syntax.Error())
	}
	return NewError(CodeInvalidJSON, "%v", err)
}

func position(b []byte, offset int64) (line, column int64) {
	head := b[:min(max(offset-1, 0), int64(len(b)))]
	line = int64(bytes.Count(head, []byte("\n"))) + 1
	column = int64(len(head)-bytes.LastIndexByte(head, '\n')-1) + 1
	return line, column
}

// MaxParts bounds a list of objects in a body. A batch of tasks has a bound of its own, MaxBatch.
const MaxParts = 1_000
