package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Bounds on what a JSON Schema may cost. The library evaluates every path: a schema that refers to another one twice
// doubles the work, and a schema that refers to itself without going into the value ends only in an error.
const (
	maxSchemaPaths  = 10_000    // of subschemas that apply to one value, by all ways on which a schema refers to others
	maxPatternSize  = 10_000    // instructions of one regular expression
	maxPatternsSize = 100_000   // and of all of a schema
	schemaSteps     = 1_000_000 // of one check, besides two for each byte of the value
)

// ErrTooMuchToCheck says that checking a value may take more than a bounded number of steps. Such a check is refused
// before it begins.
var ErrTooMuchToCheck = errors.New("checking this against the schema takes too many steps")

// sizedPattern is a regular expression whose size is known: to match it takes its size times the length of the text.
type sizedPattern struct {
	*regexp.Regexp
	size int
}

// patterns compiles the regular expressions of one schema. A manifest that was taken already is compiled whatever its
// expressions cost: the steps of a check bound them then.
type patterns struct {
	limited bool
	size    int
}

func (p *patterns) compile(s string) (jsonschema.Regexp, error) {
	tree, err := syntax.Parse(s, syntax.Perl)
	if err != nil {
		return nil, err
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, err
	}
	p.size += len(prog.Inst)
	switch {
	case !p.limited:
	case len(prog.Inst) > maxPatternSize:
		return nil, fmt.Errorf("a regular expression of %d instructions, more than %d", len(prog.Inst), maxPatternSize)
	case p.size > maxPatternsSize:
		return nil, fmt.Errorf("regular expressions of %d instructions together, more than %d", p.size, maxPatternsSize)
	}
	re, err := regexp.Compile(s)
	return sizedPattern{re, len(prog.Inst)}, err
}

// judge refuses a schema whose evaluation takes very many steps for one value, or does not end.
func judge(s *jsonschema.Schema) error {
	j := judgement{paths: map[*jsonschema.Schema]int64{}}
	entered := map[*jsonschema.Schema]bool{}
	for todo := []*jsonschema.Schema{s}; len(todo) > 0; {
		s, todo = todo[len(todo)-1], todo[:len(todo)-1]
		if entered[s] {
			continue
		}
		entered[s] = true
		n, err := j.count(s)
		if err == nil && n > maxSchemaPaths {
			err = fmt.Errorf("%s applies more than %d subschemas to one value, on all ways together", pointerTo(s), maxSchemaPaths)
		}
		if err != nil {
			return err
		}
		todo = append(todo, same(s)...)
		todo = append(todo, parts(s)...)
	}
	return nil
}

// pointerTo names a subschema by the part of its location behind the #.
func pointerTo(s *jsonschema.Schema) string {
	if _, fragment, ok := strings.Cut(s.Location, "#"); ok && fragment != "" {
		return "#" + fragment
	}
	return "#"
}

type judgement struct {
	paths map[*jsonschema.Schema]int64 // 0: being counted
}

// count returns how many subschemas apply to the value that s applies to.
func (j *judgement) count(s *jsonschema.Schema) (int64, error) {
	switch n, seen := j.paths[s]; {
	case seen && n == 0:
		return 0, fmt.Errorf("%s refers to itself without going into the value: it would have no end", pointerTo(s))
	case seen:
		return n, nil
	}
	j.paths[s] = 0
	n := int64(1)
	for _, t := range same(s) {
		m, err := j.count(t)
		if err != nil {
			return 0, err
		}
		n = min(n+m, maxSchemaPaths+1)
	}
	j.paths[s] = n
	return n, nil
}

func add(list []*jsonschema.Schema, more ...*jsonschema.Schema) []*jsonschema.Schema {
	for _, s := range more {
		if s != nil {
			list = append(list, s)
		}
	}
	return list
}

// same lists the subschemas that apply to the same value as s.
func same(s *jsonschema.Schema) (list []*jsonschema.Schema) {
	list = add(nil, s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else)
	if s.DynamicRef != nil {
		list = add(list, s.DynamicRef.Ref)
	}
	list = add(add(add(list, s.AllOf...), s.AnyOf...), s.OneOf...)
	for _, t := range s.DependentSchemas { // order-free: counted and summed only
		list = add(list, t)
	}
	for _, d := range s.Dependencies { // order-free
		if t, ok := d.(*jsonschema.Schema); ok {
			list = add(list, t)
		}
	}
	return list
}

// parts lists the subschemas that apply to what is in the value that s applies to.
func parts(s *jsonschema.Schema) (list []*jsonschema.Schema) {
	list = add(nil, s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020, s.UnevaluatedItems, s.ContentSchema)
	for _, t := range s.Properties { // order-free
		list = add(list, t)
	}
	for _, t := range s.PatternProperties { // order-free
		list = add(list, t)
	}
	for _, x := range []any{s.AdditionalProperties, s.Items, s.AdditionalItems} {
		switch x := x.(type) {
		case *jsonschema.Schema:
			list = add(list, x)
		case []*jsonschema.Schema:
			list = add(list, x...)
		}
	}
	return add(list, s.PrefixItems...)
}

// steps counts what an evaluation takes at most. It goes the ways of the evaluation without looking at anything that
// may end the evaluation earlier. It costs a fraction of the evaluation, and ends as soon as there are too many
// steps.
type steps struct {
	left int64
	on   map[visit]bool // being counted: the library ends there
}

// visit is a schema that applies to a value at a depth. A schema that is visited again there refers to itself.
type visit struct {
	schema *jsonschema.Schema
	depth  int
}

// affordable returns ErrTooMuchToCheck if checking a value of so many bytes may take too many steps.
func affordable(s *jsonschema.Schema, value any, bytes int) error {
	c := steps{left: schemaSteps + 2*int64(bytes), on: map[visit]bool{}}
	if !c.of(s, value, 0) {
		return fmt.Errorf("%w: more than %d", ErrTooMuchToCheck, schemaSteps+2*int64(bytes))
	}
	return nil
}

func (c *steps) take(n int64) bool {
	c.left -= n
	return c.left >= 0
}

// of counts s on v; false: too many.
func (c *steps) of(s *jsonschema.Schema, v any, depth int) bool {
	here := visit{s, depth}
	if c.on[here] {
		return true
	}
	if !c.take(1+int64(len(s.Required)+len(s.DependentRequired))) || !c.itself(s, v) {
		return false
	}
	nested := same(s)
	if len(nested) > 0 {
		c.on[here] = true
		defer delete(c.on, here)
	}
	for _, t := range nested {
		if !c.of(t, v, depth) {
			return false
		}
	}
	switch v := v.(type) {
	case map[string]any:
		return c.object(s, v, depth+1)
	case []any:
		return c.list(s, v, depth+1)
	}
	return true
}

// itself counts what s does to v without subschemas.
func (c *steps) itself(s *jsonschema.Schema, v any) bool {
	if s.Enum != nil {
		if !c.take(int64(len(s.Enum.Values))) {
			return false
		}
		if size(v, 1) > 1 && !c.take(int64(len(s.Enum.Values))*size(v, c.left)) {
			return false
		}
	}
	if s.Const != nil && !c.take(size(v, c.left)) {
		return false
	}
	switch v := v.(type) {
	case json.Number:
		return c.take(numberSteps(string(v)))
	case string:
		n := int64(len(v)) / 64
		if p, ok := s.Pattern.(sizedPattern); ok {
			n += int64(len(v)) * int64(p.size) / 16
		}
		return c.take(n)
	case []any:
		if s.UniqueItems {
			return c.take(2 * size(v, c.left))
		}
	}
	return true
}

// numberSteps is what it costs to make a fraction of a number: digits by digits, and a power of ten by its exponent.
func numberSteps(text string) int64 {
	digits, exponent := int64(len(text)), int64(0)
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		digits = int64(i)
		exponent, _ = strconv.ParseInt(text[i+1:], 10, 64) // out of range: the nearest
		exponent = min(max(exponent, -exponent), 1<<30)
	}
	return digits*digits/256 + exponent/16
}

// size is the number of values in v, counted up to most.
func size(v any, most int64) int64 {
	n := int64(1)
	switch v := v.(type) {
	case map[string]any:
		for _, x := range v { // order-free: a sum
			if n += size(x, most-n); n > most {
				return n
			}
		}
	case []any:
		for _, x := range v {
			if n += size(x, most-n); n > most {
				return n
			}
		}
	}
	return n
}

func (c *steps) object(s *jsonschema.Schema, v map[string]any, depth int) bool {
	others := add(nil, s.UnevaluatedProperties)
	if t, ok := s.AdditionalProperties.(*jsonschema.Schema); ok {
		others = add(others, t)
	}
	for name, x := range v { // order-free: a sum
		if t := s.Properties[name]; t != nil && !c.of(t, x, depth) {
			return false
		}
		for re, t := range s.PatternProperties { // order-free
			if p, ok := re.(sizedPattern); ok && !c.take(1+int64(len(name))*int64(p.size)/16) {
				return false
			}
			if re.MatchString(name) && !c.of(t, x, depth) {
				return false
			}
		}
		for _, t := range others {
			if !c.of(t, x, depth) {
				return false
			}
		}
		if s.PropertyNames != nil && !c.of(s.PropertyNames, name, depth) {
			return false
		}
	}
	return true
}

func (c *steps) list(s *jsonschema.Schema, v []any, depth int) bool {
	each := add(nil, s.Contains, s.Items2020, s.UnevaluatedItems)
	for _, x := range []any{s.Items, s.AdditionalItems} {
		if t, ok := x.(*jsonschema.Schema); ok {
			each = add(each, t)
		}
	}
	first := s.PrefixItems
	if items, ok := s.Items.([]*jsonschema.Schema); ok {
		first = items
	}
	for i, x := range v {
		if i < len(first) && !c.of(first[i], x, depth) {
			return false
		}
		for _, t := range each {
			if !c.of(t, x, depth) {
				return false
			}
		}
	}
	return true
}
