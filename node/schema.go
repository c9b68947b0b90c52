package node

import (
	"bytes"
	"errors"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/task"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// schemas checks what comes over HTTP against the JSON Schemas of behaviors.
type schemas struct{ compiled runtime.Schemas }

// params validates params: nil, or a 422 that names the field (SPEC B1).
func (s *schemas) params(schema []byte, p task.Payload) error {
	return s.check("params", api.CodeParamsSchema, schema, p)
}

// result validates a result in the same way.
func (s *schemas) result(schema []byte, p task.Payload) error {
	return s.check("result", api.CodeResultSchema, schema, p)
}

// check validates what stands in field. None is checked as null, which is what an absent value is.
func (s *schemas) check(field, code string, schema []byte, p task.Payload) error {
	if len(schema) == 0 {
		return nil
	}
	if p.Encoding == task.Bytes {
		return api.FieldError(code, field+"_base64", "the behavior's %s must be JSON", field)
	}
	var value any
	if p.Encoding == task.JSON {
		var err error
		if value, err = jsonschema.UnmarshalJSON(bytes.NewReader(p.Data)); err != nil {
			return api.FieldError(api.CodeInvalidParams, field, "not JSON: %v", err)
		}
	}
	wrong, err := s.compiled.Validate(schema, value, len(p.Data))
	if errors.Is(err, runtime.ErrTooMuchToCheck) {
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
