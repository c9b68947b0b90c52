package main

import (
	"fmt"
	"strings"
)

const (
	importHead = "github.com/taskrt/taskrt/task/wire/head"
	importTask = "github.com/taskrt/taskrt/task"
	importAPI  = "github.com/taskrt/taskrt/api"
)

// mapFields is how many fields a map has at most whose head is one byte: as many are written and read without the library.
const mapFields = 23

// encoded reports whether a struct is written without the library.
func (m *model) encoded(t typ) bool { return m.structs[t.name] != nil && m.structs[t.name].wire != "" }

// declines reports whether the function that appends a struct may leave it to the library: it may have too many fields, or a field that is not
// written without the library.
func (m *model) declines(x *structure) bool {
	written := 0
	for _, f := range x.fields {
		if !m.written(f) || f.typ.kind != "list" && m.encoded(f.typ) && m.declines(m.structs[f.typ.name]) {
			return true
		}
		written++
	}
	return written > mapFields
}

// written reports whether a field is written without the library.
func (m *model) written(f *field) bool {
	switch f.typ.kind {
	case "struct", "pointer":
		return m.encoded(f.typ)
	case "list":
		return f.typ.elem.kind == "string" || f.typ.elem.kind == "struct" && m.encoded(f.typ)
	}
	return true
}

// appends writes what appends the structs to an encoded form: see task/wire/append.go.
func appends(m *model, s *source) error {
	s.imports = []string{importTask, importHead}
	for _, x := range m.sorted() {
		if x.wire == "" {
			continue
		}
		write := m.appendStruct
		if m.applied[x.name] {
			write = m.appendCommand
		}
		if err := write(s, x); err != nil {
			return fmt.Errorf("%s: %w", x.name, err)
		}
	}
	return nil
}

// fewFields is how many fields of a command are written where the kind of command is found out: a call would take longer than they do.
const fewFields = 4

// appendCommand writes the method of fields for a command.
func (m *model) appendCommand(s *source, x *structure) error {
	if len(x.fields) <= fewFields {
		return nil
	}
	s.add("func (f *fields) %s(x *task.%s) {", lower(x.name), x.name)
	if err := m.appendFields(s, "f", x); err != nil {
		return err
	}
	s.add("}\n")
	return nil
}

// appendFields writes the lines that append the fields of x to the fields of that name.
func (m *model) appendFields(s *source, to string, x *structure) error {
	for _, f := range x.fields {
		if !m.written(f) {
			continue
		}
		if err := m.appendField(s, to, f); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return nil
}

func (m *model) appendStruct(s *source, x *structure) error {
	declines := m.declines(x)
	switch {
	case declines && x.wire == "list":
		return fmt.Errorf("a list of what the library may have to write")
	case declines:
		return m.appendUnless(s, x)
	case x.wire == "list":
		s.add("func append%ss(b []byte, xs []task.%s) []byte {", x.name, x.name)
		s.add("b = head.Append(b, head.Array, uint64(len(xs)))\nfor i := range xs {\nx := &xs[i]\nf := beginFields(b)")
	default:
		s.add("func (f *fields) %s(k byte, x *task.%s) {\nf.key(k)\ng := beginFields(f.b)", fieldMethod(x), x.name)
	}
	if x.wire == "list" {
		if err := m.appendFields(s, "f", x); err != nil {
			return err
		}
		s.add("b = f.b\n}\nreturn b\n}\n")
		return nil
	}
	if err := m.appendFields(s, "g", x); err != nil {
		return err
	}
	s.add("f.b = g.b\n}\n")
	return m.appendSome(s, x)
}

// fieldMethod is what the method of fields is called that appends a struct as the value of a field.
func fieldMethod(x *structure) string {
	if x.name == "Key" { // key begins a field
		return "taskKey"
	}
	return lower(x.name)
}

// appendUnless writes the function for a struct that may have to be left to the library.
func (m *model) appendUnless(s *source, x *structure) error {
	s.add("// append%s returns false, with b as it was, for %s that only the library can write.", x.name, article(x.name))
	s.add("func append%s(b []byte, x *task.%s) ([]byte, bool) {", x.name, x.name)
	var left []string
	for _, f := range x.fields {
		if !m.written(f) {
			left = append(left, filled("x."+f.name, f.typ))
		}
	}
	if len(left) > 0 {
		s.add("if %s {\nreturn b, false\n}", strings.Join(left, " || "))
	}
	s.add("f := beginFields(b)")
	if err := m.appendFields(s, "f", x); err != nil {
		return err
	}
	if len(x.fields) > mapFields {
		s.add("if f.b[f.start] > head.Map|%d {\nreturn b, false\n}", mapFields)
	}
	s.add("return f.b, true\n}\n")
	return nil
}

// appendSome writes the method of fields for a struct that is left out when it is empty.
func (m *model) appendSome(s *source, x *structure) error {
	if !m.omitted(x) {
		return nil
	}
	for _, f := range x.fields {
		if !f.omitEmpty {
			return fmt.Errorf("%s is never left out, so the library always writes the struct", f.name)
		}
	}
	s.add("// some%s leaves x out if it is empty.", x.name)
	s.add("func (f *fields) some%s(k byte, x *task.%s) {\nif %s {\nf.%s(k, x)\n}\n}\n", x.name, x.name, anyFilled(x.fields), fieldMethod(x))
	return nil
}

// omitted reports whether a struct that is written without the library has a field of type x that is left out when it is empty.
func (m *model) omitted(x *structure) bool {
	for _, o := range m.structs {
		for _, f := range o.fields {
			if o.wire != "" && f.omitEmpty && f.typ.kind == "struct" && f.typ.name == x.name {
				return true
			}
		}
	}
	return false
}

func (m *model) appendField(s *source, to string, f *field) error {
	x, t := "x."+f.name, f.typ
	method := map[string]string{"string": "text", "bool": "true"}[t.kind]
	value := x
	switch {
	case t.kind == "string":
		value = as("string", t.name, x)
	case t.signed():
		method, value = "int", as("int64", t.name, x)
	case t.unsigned():
		method, value = "uint", as("uint64", t.name, x)
	case t.kind == "list" && t.elem.kind == "string":
		method = "texts"
	case t.kind == "struct" && f.omitEmpty:
		method, value = t.name, "&"+x
	}
	switch {
	case t.kind == "bytes" && f.omitEmpty:
		s.add("if len(%s) > 0 {\n%s.key(%d)\n%s.b = head.AppendBytes(%s.b, %s)\n}", x, to, f.number, to, to, x)
	case method == "texts" && f.omitEmpty:
		s.add("if len(%s) > 0 {\n%s.%s(%d, %s)\n}", x, to, method, f.number, x)
	case method != "" && f.omitEmpty:
		s.add("%s.some%s%s(%d, %s)", to, strings.ToUpper(method[:1]), method[1:], f.number, value)
	case method == "text" || method == "int" || method == "uint":
		s.add("%s.%s(%d, %s)", to, method, f.number, value)
	case t.kind == "pointer" && f.omitEmpty:
		s.add("if %s != nil {", x)
		m.appendNested(s, to, f, x)
		s.add("}")
	case t.kind == "list" && f.omitEmpty && m.encoded(t):
		s.add("if len(%s) > 0 {\n%s.key(%d)\n%s.b = append%ss(%s.b, %s)\n}", x, to, f.number, to, t.name, to, x)
	case t.kind == "struct":
		m.appendNested(s, to, f, "&"+x)
	default:
		return fmt.Errorf("nothing appends a %s that is never left out", t.kind)
	}
	return nil
}

func (m *model) appendNested(s *source, to string, f *field, x string) {
	of := m.structs[f.typ.name]
	if m.declines(of) {
		s.add("%s.key(%d)\nvar ok bool\nif %s.b, ok = append%s(%s.b, %s); !ok {\nreturn b, false\n}", to, f.number, to, f.typ.name, to, x)
		return
	}
	s.add("%s.%s(%d, %s)", to, fieldMethod(of), f.number, x)
}

// reads writes what reads the structs: see task/wire/read.go.
func reads(m *model, s *source) error {
	s.imports = []string{"math", importTask}
	for _, x := range m.sorted() {
		if x.wire == "" || x.wire == "append" || len(x.fields) == 0 {
			continue
		}
		if err := m.readStruct(s, x); err != nil {
			return fmt.Errorf("%s: %w", x.name, err)
		}
	}
	return nil
}

func (m *model) readStruct(s *source, x *structure) error {
	method := lower(x.name)
	switch x.wire {
	case "value":
		s.add("func (r *reader) %s() (x task.%s) {\nf := r.fields()\nfor {", method, x.name)
	case "pointer":
		s.add("func (r *reader) %s() *task.%s {\nx := &task.%s{}\nf := r.fields()\nfor {", method, x.name, x.name)
	case "list":
		s.add("func (r *reader) %ss() []task.%s {\nxs := make([]task.%s, r.list())", method, x.name, x.name)
		s.add("for i := range xs {\nx := &xs[i]\nf := r.fields()\nfor k := r.next(&f); k != 0; k = r.next(&f) {")
	}
	if x.wire == "list" {
		s.add("switch k {")
	} else {
		s.add("switch r.next(&f) {\ncase 0:\nreturn x")
	}
	for _, f := range x.fields {
		if !m.written(f) {
			continue
		}
		value, err := m.readValue(f)
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		s.add("case %d:\nx.%s = %s", f.number, f.name, value)
	}
	s.add("default:\nr.bad = true\n}\n}")
	if x.wire == "list" {
		s.add("}\nreturn xs")
	}
	s.add("}\n")
	return nil
}

// readValue returns the expression that reads a field.
func (m *model) readValue(f *field) (string, error) {
	t := f.typ
	name := "task." + t.name
	if t.name == t.kind {
		name = t.name
	}
	of := m.structs[t.name]
	switch {
	case t.kind == "string" && (f.is("name") || f.is("shared")):
		return as(name, "string", "r.name()"), nil
	case t.kind == "string":
		return as(name, "string", "r.text()"), nil
	case t.kind == "bool":
		return "r.bool()", nil
	case t.kind == "bytes":
		return "r.bytes()", nil
	case t.kind == "int64":
		return as(name, "int64", "r.int()"), nil
	case t.kind == "uint64":
		return as(name, "uint64", "r.uint()"), nil
	case t.signed():
		bits := strings.TrimPrefix(t.kind, "int")
		return fmt.Sprintf("%s(r.small(math.MinInt%s, math.MaxInt%s))", name, bits, bits), nil
	case t.unsigned():
		return fmt.Sprintf("%s(r.small(0, math.MaxUint%s))", name, strings.TrimPrefix(t.kind, "uint")), nil
	case t.kind == "list" && t.elem.kind == "string":
		return "r.texts()", nil
	case t.kind == "list" && of.wire == "list":
		return "r." + lower(t.name) + "s()", nil
	case t.kind == "pointer" && of.wire == "value":
		return "pointer(r." + lower(t.name) + "())", nil
	case t.kind == "pointer" && of.wire == "pointer", t.kind == "struct" && (of.wire == "value" || of.wire == "append"):
		return "r." + lower(t.name) + "()", nil
	}
	return "", fmt.Errorf("nothing reads this %s of %s", t.kind, t.name)
}
