package node

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/task"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// schemas compiles the JSON Schemas of behaviors once per version. It is a cache: emptied when full, because versions
// that nobody submits to any more would stay in it for ever.
type schemas struct {
	mu   sync.Mutex
	byID map[schemaID]*jsonschema.Schema
}

// schemaID names one schema: of the params or the results of a behavior's version.
type schemaID struct {
	namespace, behavior, version string
	results                      bool
}

const maxSchemas = 256

// field is where the values stand that the schema is for, code what is wrong with one that does not match.
func (id schemaID) field() (name, code string) {
	if id.results {
		return "result", api.CodeResultSchema
	}
	return "params", api.CodeParamsSchema
}

// check validates params or a result against the behavior's schema for them: nil, or a 422 that names the field (SPEC B1).
// None is checked as null, which is what an absent value is.
func (s *schemas) check(id schemaID, schema []byte, p task.Payload) error {
	if len(schema) == 0 {
		return nil
	}
	field, code := id.field()
	compiled, err := s.compiled(id, schema)
	if err != nil {
		return api.NewError(api.CodeInternal, "the behavior's %s_schema does not compile: %v", field, err)
	}
	if p.Encoding == task.Bytes {
		return api.FieldError(code, field+"_base64", "the behavior's %s must be JSON", field)
	}
	var value any
	if p.Encoding == task.JSON {
		if value, err = jsonschema.UnmarshalJSON(bytes.NewReader(p.Data)); err != nil {
			return api.FieldError(api.CodeInvalidParams, field, "not JSON: %v", err)
		}
	}
	err = compiled.Validate(value)
	if ve, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		at := deepest(ve)
		return api.FieldError(code, strings.Join(append([]string{field}, at.InstanceLocation...), "."), "%s",
			at.ErrorKind.LocalizedString(message.NewPrinter(language.English)))
	}
	if err != nil {
		return api.FieldError(code, field, "%v", err)
	}
	return nil
}

// deepest follows the first cause down to the value that is wrong.
func deepest(e *jsonschema.ValidationError) *jsonschema.ValidationError {
	for len(e.Causes) > 0 {
		e = e.Causes[0]
	}
	return e
}

func (s *schemas) compiled(id schemaID, schema []byte) (*jsonschema.Schema, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.byID[id]; ok {
		return c, nil
	}
	c, err := compileSchema(schema)
	if err != nil {
		return nil, err
	}
	if s.byID == nil || len(s.byID) >= maxSchemas {
		s.byID = map[schemaID]*jsonschema.Schema{}
	}
	s.byID[id] = c
	return c, nil
}

// compileSchema compiles a JSON Schema 2020-12 that stands by itself.
func compileSchema(schema []byte) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, err
	}
	const name = "taskrt:schema"
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noRemote{})
	if err := c.AddResource(name, doc); err != nil {
		return nil, err
	}
	return c.Compile(name)
}

// noRemote refuses to load what a schema refers to outside itself: an upload must not make a node read files or URLs.
type noRemote struct{}

func (noRemote) Load(url string) (any, error) { return nil, fmt.Errorf("remote reference %q", url) }
