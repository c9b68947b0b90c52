package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Schemas checks values against the JSON Schemas of manifests, and compiles each schema only once. It is a cache that
// is emptied when it is full, because schemas of versions that nobody runs any more would stay in it for ever. The
// zero value is ready.
type Schemas struct {
	mu       sync.Mutex
	compiled map[string]*jsonschema.Schema // by their text
}

const maxSchemas = 256

// Check returns nil if the JSON text value matches the schema, else an error of one line that says where it does not.
// An empty schema accepts everything.
func (s *Schemas) Check(schema, value []byte) error {
	if len(schema) == 0 {
		return nil
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	wrong, err := s.Validate(schema, v, len(value))
	if err != nil || wrong == nil {
		return err
	}
	what := wrong.Error()
	if i := strings.LastIndex(what, "\n- "); i >= 0 { // lines before it name the schema, which nobody can look up
		what = what[i+3:]
	}
	return errors.New(what)
}

// Validate checks a decoded value, as jsonschema.UnmarshalJSON gives it, against a schema that is not empty. wrong is
// the first of the innermost violations, or nil. err says that the schema does not compile, or is ErrTooMuchToCheck:
// the value's size in bytes bounds what a check may cost.
func (s *Schemas) Validate(schema []byte, value any, size int) (wrong *jsonschema.ValidationError, err error) {
	compiled, err := s.get(schema)
	if err != nil {
		return nil, err
	}
	if err := affordable(compiled, value, size); err != nil {
		return nil, err
	}
	err = compiled.Validate(value)
	if wrong, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		for len(wrong.Causes) > 0 {
			wrong = wrong.Causes[0]
		}
		return wrong, nil
	}
	return nil, err
}

func (s *Schemas) get(schema []byte) (*jsonschema.Schema, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.compiled[string(schema)]; ok {
		return c, nil
	}
	c, err := compile(schema, false)
	if err != nil {
		return nil, err
	}
	if s.compiled == nil || len(s.compiled) >= maxSchemas {
		s.compiled = map[string]*jsonschema.Schema{}
	}
	s.compiled[string(schema)] = c
	return c, nil
}

// noFiles refuses a schema's references to anything outside the schema: they would be read from this machine.
type noFiles struct{}

func (noFiles) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s: a schema may refer only to itself: %w", url, fs.ErrPermission)
}

// checkSchema reports what is wrong with a JSON Schema.
func checkSchema(text []byte) error {
	compiled, err := compile(text, true)
	var bad *jsonschema.SchemaValidationError
	switch {
	case errors.As(err, &bad):
		return bad.Err
	case err != nil:
		return err
	}
	return judge(compiled)
}

// compile makes a validator of a JSON Schema (2020-12) that refers only to itself. If limited, it refuses regular
// expressions that are too large.
func compile(text []byte, limited bool) (*jsonschema.Schema, error) {
	v, err := decodeJSON(text)
	if err != nil {
		return nil, err
	}
	const name = "taskrt:///schema"
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noFiles{})
	c.UseRegexpEngine((&patterns{limited: limited}).compile)
	if err := c.AddResource(name, v); err != nil {
		return nil, err
	}
	return c.Compile(name)
}
