// Package schemas checks values of requests against the JSON Schemas of behaviors (SPEC B1).
package schemas

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/runtime/manifest"
	"github.com/taskrt/taskrt/task"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Checker checks values of HTTP requests against the JSON Schemas of behaviors. A check is bounded by the size of the
// value, and nothing interrupts it: the largest value of a request may take seconds. So large values take turns, and a
// request that ends while it waits is passed over. Clients that come and go cost one processor at most.
type Checker struct {
	compiled manifest.Schemas
	large    chan struct{} // has an item while a large value is checked
}

// largeCheck is the size from which on a value is large, in bytes: its check takes about 0.1 s.
const largeCheck = 256 << 10

// New makes a Checker.
func New() *Checker { return &Checker{large: make(chan struct{}, 1)} }

// Params validates params. Its error is a 422 that names the field (SPEC B1).
func (s *Checker) Params(ctx context.Context, schema []byte, p task.Payload) error {
	return s.check(ctx, "params", api.CodeParamsSchema, schema, p)
}

// Result validates a result in the same way.
func (s *Checker) Result(ctx context.Context, schema []byte, p task.Payload) error {
	return s.check(ctx, "result", api.CodeResultSchema, schema, p)
}

// check validates the value of field. An absent value (None) is checked as null.
func (s *Checker) check(ctx context.Context, field, code string, schema []byte, p task.Payload) error {
	if len(schema) == 0 {
		return nil
	}
	if p.Encoding == task.Bytes {
		return api.FieldError(code, field+"_base64", "the behavior's %s must be JSON", field)
	}
	if len(p.Data) >= largeCheck {
		select {
		case s.large <- struct{}{}:
			defer func() { <-s.large }()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	var value any
	if p.Encoding == task.JSON {
		var err error
		if value, err = jsonschema.UnmarshalJSON(bytes.NewReader(p.Data)); err != nil {
			return api.FieldError(api.CodeInvalidParams, field, "not JSON: %v", err)
		}
	}
	wrong, err := s.compiled.Validate(schema, value, len(p.Data))
	if errors.Is(err, manifest.ErrTooMuchToCheck) {
		return api.FieldError(code, field, "%v", err)
	}
	if err != nil {
		return api.NewError(api.CodeInternal, "the behavior's %s_schema does not compile: %v", field, err)
	}
	if wrong == nil {
		return nil
	}
	return api.FieldError(code, strings.Join(append([]string{field}, wrong.InstanceLocation...), "."), "%s",
		wrong.ErrorKind.LocalizedString(message.NewPrinter(language.English)))
}
