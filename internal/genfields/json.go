package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// object is a struct that package codec writes and reads as JSON without reflection: a line //fields:json stands above it. The members
// have the order of the fields.
type object struct {
	name    string // with its package, as codec writes it
	short   string // without
	members []member
	reader  string // answer or submit: what reads it; "": nothing
}

// member is one member of an object.
type member struct {
	field, name string
	typ         string // as codec writes it
	omit        string // omitempty, omitzero, or ""
	tag         []string
}

func (m member) is(word string) bool { return slices.Contains(m.tag, word) }

// jsonWords are what field tags may say of members.
var jsonWords = []string{"shared", "compact"}

// objects are the structs of some files that are written without reflection.
type objects []*object

// jsonFiles are where objects are, and how codec names the package.
var jsonFiles = []struct{ name, prefix string }{{"api/types.go", "api."}, {"api/types_work.go", "api."}, {"api/internal/codec/wire.go", ""}}

func parseObjects(root string) (objects, error) {
	var all objects
	for _, f := range jsonFiles {
		text, err := os.ReadFile(filepath.Join(root, f.name))
		if err != nil {
			return nil, err
		}
		some, err := parseObjectsOf(f.name, text, f.prefix)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

func parseObjectsOf(name string, text []byte, prefix string) (objects, error) {
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var all objects
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || len(g.Specs) != 1 {
			continue
		}
		said := directives(g.Doc, "json")
		t, ok := g.Specs[0].(*ast.TypeSpec)
		if len(said) == 0 || !ok {
			continue
		}
		o := &object{name: prefix + t.Name.Name, short: t.Name.Name, reader: said[0]}
		if !slices.Contains([]string{"", "answer", "submit"}, o.reader) {
			return nil, fmt.Errorf("%s: //fields:json %s", o.short, o.reader)
		}
		s, ok := t.Type.(*ast.StructType)
		if !ok {
			return nil, fmt.Errorf("%s is no struct", o.short)
		}
		if err := o.read(s, prefix); err != nil {
			return nil, fmt.Errorf("%s: %w", o.short, err)
		}
		all = append(all, o)
	}
	return all, nil
}

func (o *object) read(s *ast.StructType, prefix string) error {
	for _, f := range s.Fields.List {
		if len(f.Names) != 1 || f.Tag == nil {
			return fmt.Errorf("a field without a name or a tag")
		}
		text, err := strconv.Unquote(f.Tag.Value)
		if err != nil {
			return err
		}
		tag := reflect.StructTag(text)
		name, omit, _ := strings.Cut(tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		m := member{field: f.Names[0].Name, name: name, omit: omit, typ: typeName(f.Type, prefix)}
		if said := tag.Get("field"); said != "" {
			m.tag = strings.Split(said, ",")
		}
		for _, word := range m.tag {
			if !slices.Contains(jsonWords, word) {
				return fmt.Errorf("%s: field:%q", m.field, word)
			}
		}
		if name == "" || omit != "" && omit != "omitempty" && omit != "omitzero" {
			return fmt.Errorf("%s: json:%q", m.field, tag.Get("json"))
		}
		o.members = append(o.members, m)
	}
	return nil
}

// typeName is a type as codec writes it: types of package api with their package.
func typeName(e ast.Expr, prefix string) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return "*" + typeName(e.X, prefix)
	case *ast.ArrayType:
		return "[]" + typeName(e.Elt, prefix)
	case *ast.Ident:
		if ast.IsExported(e.Name) {
			return prefix + e.Name
		}
	}
	return types.ExprString(e)
}

// known returns the object of a type, of what it points to, or of what it lists.
func (os objects) known(typ string) *object {
	for _, o := range os {
		if o.name == strings.TrimPrefix(strings.TrimPrefix(typ, "[]"), "*") {
			return o
		}
	}
	return nil
}

// jsonAppends writes what appends the objects: see api/internal/codec/encode.go.
func jsonAppends(all objects, s *source) error {
	s.imports = []string{"encoding/base64", "strconv", importAPI}
	for _, o := range all {
		s.add("// append%s appends x, or null.", o.short)
		s.add("func append%s(b []byte, x *%s) []byte { return appendObject(b, x, append%sMembers) }\n", o.short, o.name, o.short)
		s.add("func append%sMembers(b []byte, x *%s) []byte {", o.short, o.name)
		first := slices.IndexFunc(o.members, func(m member) bool { return m.omit == "" })
		if first < 0 {
			return fmt.Errorf("%s: every member may be left out", o.short)
		}
		for i, m := range o.members {
			before, after := ",", "" // the comma
			if i == first {
				before = ""
			} else if i < first {
				before, after = "", ","
			}
			line, err := all.appendMember(m, fmt.Sprintf("%s%q:", before, m.name), after)
			if err != nil {
				return fmt.Errorf("%s.%s: %w", o.short, m.field, err)
			}
			s.add("%s", line)
		}
		s.add("return b\n}\n")
	}
	return nil
}

// appendMember returns the code that appends a member of x. prefix is all that stands before the value.
func (os objects) appendMember(m member, prefix, after string) (string, error) {
	x := "x." + m.field
	begun := "append(b, `" + prefix + "`...)"
	var value string
	present := x + " != 0"
	switch {
	case m.typ == "string" && m.omit != "" && after == "":
		return fmt.Sprintf("b = appendText(b, `%s`, %s)", prefix, x), nil
	case m.typ == "string":
		value, present = fmt.Sprintf("appendString(%s, %s)", begun, x), x+` != ""`
	case m.typ == "bool" && m.omit != "":
		value, present = "append(b, `"+prefix+"true`...)", x
	case m.typ == "bool":
		value = fmt.Sprintf("strconv.AppendBool(%s, %s)", begun, x)
	case m.typ == "int64" || m.typ == "int":
		value = fmt.Sprintf("strconv.AppendInt(%s, %s, 10)", begun, as("int64", m.typ, x))
	case m.typ == "*int":
		value, present = fmt.Sprintf("strconv.AppendInt(%s, int64(*%s), 10)", begun, x), x+" != nil"
	case m.typ == "uint64":
		value = fmt.Sprintf("strconv.AppendUint(%s, %s, 10)", begun, x)
	case m.typ == "json.RawMessage" && m.omit != "" && m.is("compact"):
		value, present = fmt.Sprintf("append(%s, %s...)", begun, x), "len("+x+") > 0"
	case m.typ == "json.RawMessage" && m.omit != "" && after == "":
		return fmt.Sprintf("b = appendRaw(b, `%s`, %s)", prefix, x), nil
	case m.typ == "[]byte" && m.omit == "omitzero":
		value, present = fmt.Sprintf("append(base64.StdEncoding.AppendEncode(append(b, `%s\"`...), %s), '\"')", prefix, x), x+" != nil"
	case m.typ == "[]byte" && m.omit != "" && after == "":
		return fmt.Sprintf("b = appendBytes(b, `%s`, %s)", prefix, x), nil
	case m.typ == "*api.Time" && m.omit != "" && after == "":
		return fmt.Sprintf("b = appendTime(b, `%s`, %s)", prefix, x), nil
	case m.typ == "api.Time" && m.omit == "" && after == "":
		return fmt.Sprintf("b = appendTime(b, `%s`, &%s)", prefix, x), nil
	case m.typ == "*api.Duration" && m.omit != "":
		value, present = fmt.Sprintf("append(append(append(b, `%s\"`...), %s.String()...), '\"')", prefix, x), x+" != nil"
	case m.typ == "map[string]string":
		value, present = fmt.Sprintf("appendLabels(%s, %s)", begun, x), "len("+x+") > 0"
	case os.known(m.typ) != nil && strings.HasPrefix(m.typ, "[]"):
		value, present = fmt.Sprintf("appendList(%s, %s, append%s)", begun, x, os.known(m.typ).short), "len("+x+") > 0"
	case os.known(m.typ) != nil && strings.HasPrefix(m.typ, "*"):
		value, present = fmt.Sprintf("append%s(%s, %s)", os.known(m.typ).short, begun, x), x+" != nil"
	case os.known(m.typ) != nil && m.omit == "":
		value = fmt.Sprintf("append%s(%s, &%s)", os.known(m.typ).short, begun, x)
	case strings.HasPrefix(m.typ, "*") && m.omit != "":
		value, present = fmt.Sprintf("Append(%s, %s)", begun, x), x+" != nil"
	default:
		return "", fmt.Errorf("nothing appends a %s", m.typ)
	}
	if after != "" {
		value = fmt.Sprintf("append(%s, '%s')", value, after)
	}
	if m.omit != "" {
		return fmt.Sprintf("if %s {\nb = %s\n}", present, value), nil
	}
	return "b = " + value, nil
}

// jsonReads writes what reads the objects: see api/internal/codec/answers.go and submits.go.
func jsonReads(all objects, s *source) error {
	s.imports = []string{importAPI}
	for _, o := range all {
		var err error
		switch o.reader {
		case "answer":
			err = all.answer(s, o)
		case "submit":
			err = all.submit(s, o)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", o.short, err)
		}
	}
	return nil
}

// answer writes the method of answerReader for an object. A member that comes twice, and that encoding/json would put together with the
// first, is refused.
func (os objects) answer(s *source, o *object) error {
	s.add("func (a *answerReader) %s(x *%s) bool {\nreturn a.Members(func(name []byte) bool {\nswitch string(name) {", lower(o.short), o.name)
	for _, m := range o.members {
		s.add("case %q:", m.name)
		x := "x." + m.field
		read := scannerMethod("a", m)
		of := os.known(m.typ)
		switch {
		case read != "":
			s.add("return %s", read)
		case m.typ == "json.RawMessage":
			s.add("return a.raw(&%s)", x)
		case of != nil && of.reader == "answer" && strings.HasPrefix(m.typ, "[]"):
			s.add("return elements(a, &%s, a.%s)", x, lower(of.short))
		case of != nil && of.reader == "answer" && strings.HasPrefix(m.typ, "*"):
			s.add("return once(&%s) && a.%s(%s)", x, lower(of.short), x)
		case strings.HasPrefix(m.typ, "*"):
			s.add("return a.other(&%s)", x)
		default:
			return fmt.Errorf("%s: nothing reads a %s", m.field, m.typ)
		}
	}
	s.add("}\nreturn a.unknown(name)\n})\n}\n")
	return nil
}

// submit writes the method of submitReader for an object, and the bits that say which members came.
func (os objects) submit(s *source, o *object) error {
	s.add("// These are bits for the members that a body has.\nconst (")
	for i, m := range o.members {
		first := ""
		if i == 0 {
			first = " = 1 << iota"
		}
		s.add("has%s%s", m.field, first)
	}
	s.add(")\n")
	s.add("// field reads the value of a member, if it is plain.")
	s.add("func (s *submitReader) field(x *%s, name []byte, depth int) (bit int, ok bool) {\nswitch string(name) {", o.name)
	for _, m := range o.members {
		read := scannerMethod("s", m)
		if m.typ == "json.RawMessage" {
			read = "s.raw(&x." + m.field + ", depth)"
		}
		if read == "" {
			return fmt.Errorf("%s: nothing reads a %s", m.field, m.typ)
		}
		s.add("case %q:\nreturn has%s, %s", m.name, m.field, read)
	}
	s.add("}\nreturn 0, false\n}\n")
	return nil
}

// scannerMethod returns the call that reads a member of one word; "": there is none.
func scannerMethod(s string, m member) string {
	to := "&x." + m.field
	switch m.typ {
	case "string":
		if m.is("shared") {
			return fmt.Sprintf("%s.Known(%s, &%s.%s)", s, to, s, lower(m.field))
		}
		return fmt.Sprintf("%s.Text(%s)", s, to)
	case "map[string]string":
		if s == "a" {
			return fmt.Sprintf("x.%s == nil && a.Labels(%s)", m.field, to)
		}
		return fmt.Sprintf("%s.Labels(%s)", s, to)
	}
	method := map[string]string{
		"bool": "Bool", "int64": "Int", "uint64": "Uint", "int": "int", "*int": "intOrNil", "[]byte": "Base64",
		"api.Time": "time", "*api.Time": "timeOrNil", "*api.Duration": "duration",
	}[m.typ]
	if method == "" {
		return ""
	}
	return fmt.Sprintf("%s.%s(%s)", s, method, to)
}
