package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// model is what genfields knows of package task.
type model struct {
	structs  map[string]*structure
	basics   map[string]string // named types of one word: Time is int64
	commands []command         // by number
	applied  map[string]bool   // types that are commands
}

// structure is a struct that is encoded.
type structure struct {
	name   string
	fields []*field // by number
	hash   []string // the words behind //fields:hash
	wire   string   // the word behind //fields:wire
	packed bool
}

// field is an encoded field of a structure.
type field struct {
	name      string
	typ       typ
	number    int
	omitEmpty bool
	tag       map[string]string // what field:"…" says: bit → 8, head → ""
}

func (f *field) is(word string) bool { _, ok := f.tag[word]; return ok }

// typ is the type of a field.
type typ struct {
	kind string // string, bool, int8 … uint64, bytes, struct, pointer, list
	name string // as package task writes it; of what a pointer points to, or a list holds
	elem *typ   // of a pointer and a list
}

func (t typ) signed() bool   { return strings.HasPrefix(t.kind, "int") }
func (t typ) unsigned() bool { return strings.HasPrefix(t.kind, "uint") }

// command is one line of the list of commands.
type command struct {
	name   string
	number int
}

// words are all that field tags may say, and whether a value follows.
var words = map[string]bool{
	"bit": true, "place": true, "with": true, "head": false, "running": false, "name": false, "shared": false, "fixed": false,
	"blobs": false, "late": false, "list": true, "part": true, "hash": true, "given": true,
}

// parse reads the package in a directory.
func parse(dir string) (*model, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	sources := map[string][]byte{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "_gen.go") {
			continue
		}
		if sources[name], err = os.ReadFile(name); err != nil {
			return nil, err
		}
	}
	return parseFiles(sources)
}

func parseFiles(sources map[string][]byte) (*model, error) {
	m := &model{structs: map[string]*structure{}, basics: map[string]string{}, applied: map[string]bool{}}
	var files []*ast.File
	fset := token.NewFileSet()
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		f, err := parser.ParseFile(fset, name, sources[name], parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
		m.findBasics(f)
	}
	for _, f := range files {
		for _, d := range f.Decls {
			if err := m.declaration(d); err != nil {
				return nil, fmt.Errorf("%s: %w", fset.Position(d.Pos()), err)
			}
		}
	}
	return m, m.check()
}

// findBasics notes the named types of one word.
func (m *model) findBasics(f *ast.File) {
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.TYPE {
			continue
		}
		for _, s := range g.Specs {
			t := s.(*ast.TypeSpec)
			if of, ok := t.Type.(*ast.Ident); ok {
				m.basics[t.Name.Name] = of.Name
			}
		}
	}
}

// declaration reads the structs, the list of commands, and the methods that make a type a command.
func (m *model) declaration(d ast.Decl) error {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.Name == "apply" && d.Recv != nil && len(d.Type.Params.List) == 1 {
			if t, ok := d.Recv.List[0].Type.(*ast.Ident); ok {
				m.applied[t.Name] = true
			}
		}
	case *ast.GenDecl:
		if d.Tok == token.VAR && len(directives(d.Doc, "commands")) > 0 {
			return m.listCommands(d)
		}
		if d.Tok != token.TYPE {
			return nil
		}
		for _, spec := range d.Specs {
			t := spec.(*ast.TypeSpec)
			doc := t.Doc
			if doc == nil {
				doc = d.Doc
			}
			if s, ok := t.Type.(*ast.StructType); ok {
				if err := m.structure(t.Name.Name, doc, s); err != nil {
					return fmt.Errorf("%s: %w", t.Name.Name, err)
				}
			}
		}
	}
	return nil
}

// directives returns what the comment says behind //fields:word, one for each line.
func directives(doc *ast.CommentGroup, word string) (said []string) {
	if doc == nil {
		return nil
	}
	for _, line := range doc.List {
		rest, ok := strings.CutPrefix(line.Text, "//fields:"+word)
		if ok && (rest == "" || rest[0] == ' ') {
			said = append(said, strings.TrimSpace(rest))
		}
	}
	return said
}

func (m *model) structure(name string, doc *ast.CommentGroup, t *ast.StructType) error {
	s := &structure{name: name, packed: len(directives(doc, "packed")) > 0}
	for _, said := range directives(doc, "hash") {
		s.hash = strings.Fields(said)
		if len(s.hash) == 0 || !slices.Contains([]string{"record", "part", "parts", "maybe", "list"}, s.hash[0]) {
			return fmt.Errorf("//fields:hash %s", said)
		}
	}
	for _, said := range directives(doc, "wire") {
		if s.wire = said; !slices.Contains([]string{"value", "pointer", "list", "append"}, said) {
			return fmt.Errorf("//fields:wire %s", said)
		}
	}
	for _, f := range t.Fields.List {
		if f.Tag == nil || len(f.Names) == 0 {
			continue
		}
		text, err := strconv.Unquote(f.Tag.Value)
		if err != nil {
			return err
		}
		one, err := m.field(f.Names[0].Name, f.Type, reflect.StructTag(text))
		if err != nil {
			return fmt.Errorf("%s: %w", f.Names[0].Name, err)
		}
		if one != nil {
			s.fields = append(s.fields, one)
		}
	}
	slices.SortStableFunc(s.fields, func(a, b *field) int { return a.number - b.number })
	for i := 1; i < len(s.fields); i++ {
		if s.fields[i].number == s.fields[i-1].number {
			return fmt.Errorf("%s and %s have the same number %d", s.fields[i-1].name, s.fields[i].name, s.fields[i].number)
		}
	}
	m.structs[name] = s
	return nil
}

// field reads one field; nil: it is not encoded.
func (m *model) field(name string, t ast.Expr, tag reflect.StructTag) (*field, error) {
	parts := strings.Split(tag.Get("cbor"), ",")
	said := tag.Get("field")
	if parts[0] == "" || parts[0] == "-" {
		if said != "" {
			return nil, fmt.Errorf("field:%q of what is not encoded", said)
		}
		return nil, nil
	}
	f := &field{name: name, tag: map[string]string{}, omitEmpty: slices.Contains(parts, "omitempty")}
	var err error
	if f.number, err = strconv.Atoi(parts[0]); err != nil || f.number < 1 || f.number > 255 || !slices.Contains(parts, "keyasint") {
		return nil, fmt.Errorf("cbor:%q: a number from 1 to 255, and keyasint", tag.Get("cbor"))
	}
	for _, word := range strings.Split(said, ",") {
		if said == "" {
			break
		}
		key, value, given := strings.Cut(word, "=")
		if takes, ok := words[key]; !ok || takes != given || f.is(key) {
			return nil, fmt.Errorf("field:%q: %q", said, word)
		}
		f.tag[key] = value
	}
	f.typ, err = m.typeOf(t)
	return f, err
}

func (m *model) typeOf(e ast.Expr) (typ, error) {
	switch e := e.(type) {
	case *ast.Ident:
		basic := e.Name
		for m.basics[basic] != "" {
			basic = m.basics[basic]
		}
		switch basic {
		case "string", "bool", "int8", "int32", "int64", "uint8", "uint64":
			return typ{kind: basic, name: e.Name}, nil
		}
		return typ{kind: "struct", name: e.Name}, nil
	case *ast.StarExpr:
		elem, err := m.typeOf(e.X)
		return typ{kind: "pointer", name: elem.name, elem: &elem}, err
	case *ast.ArrayType:
		if of, ok := e.Elt.(*ast.Ident); ok && of.Name == "byte" && e.Len == nil {
			return typ{kind: "bytes", name: "[]byte"}, nil
		}
		elem, err := m.typeOf(e.Elt)
		if err == nil && e.Len == nil {
			return typ{kind: "list", name: elem.name, elem: &elem}, nil
		}
	}
	return typ{}, fmt.Errorf("a type that genfields does not know: %T", e)
}

// numbered is how a line of the list of commands ends.
var numbered = regexp.MustCompile(`^// (\d+)$`)

// listCommands reads lines like `_ Command = Submit{} // 1`.
func (m *model) listCommands(d *ast.GenDecl) error {
	for _, spec := range d.Specs {
		v := spec.(*ast.ValueSpec)
		lit, ok := v.Values[0].(*ast.CompositeLit)
		if !ok || v.Comment == nil {
			return fmt.Errorf("a line of the list of commands is like: _ Command = Submit{} // 1")
		}
		name := lit.Type.(*ast.Ident).Name
		number := numbered.FindStringSubmatch(v.Comment.List[0].Text)
		if number == nil {
			return fmt.Errorf("%s has no number", name)
		}
		n, err := strconv.Atoi(number[1])
		if err != nil {
			return err
		}
		m.commands = append(m.commands, command{name, n})
	}
	return nil
}

// check refuses numbers that are equal or missing, and names of what is not there.
func (m *model) check() error {
	listed := map[string]bool{}
	slices.SortStableFunc(m.commands, func(a, b command) int { return a.number - b.number })
	for i, c := range m.commands {
		if c.number != i+1 || listed[c.name] {
			return fmt.Errorf("%s has the number %d, want %d: each command once, each number once, none left out", c.name, c.number, i+1)
		}
		listed[c.name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(m.applied)) {
		if !listed[name] {
			return fmt.Errorf("%s has an apply and is not in the list of commands", name)
		}
	}
	for _, s := range m.sorted() {
		if s.packed {
			if err := checkPacked(s); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
	}
	return nil
}

// checkPacked refuses a field that does not say where it belongs, and bits and places that are equal or missing.
func checkPacked(s *structure) error {
	bits, places := map[string]string{}, map[string]string{}
	for _, f := range s.fields {
		said := 0
		for _, word := range []string{"head", "bit", "running", "with"} {
			if f.is(word) {
				said++
			}
		}
		if said != 1 {
			return fmt.Errorf("%s says nothing of head, bit, running and with, or two of them", f.name)
		}
		if with := f.tag["with"]; with != "" && !slices.ContainsFunc(s.fields, func(o *field) bool {
			return o.name == with && o.number < f.number && (o.is("bit") || o.is("running"))
		}) {
			return fmt.Errorf("%s is with %s, which has no bit and no place before it", f.name, with)
		}
		if placed := (f.is("bit") || f.is("running")) && f.typ.kind != "bool"; placed != f.is("place") {
			return fmt.Errorf("%s: what has a bit has a place too, unless the bit says all", f.name)
		}
		for word, taken := range map[string]map[string]string{"bit": bits, "place": places} {
			if n, ok := f.tag[word]; ok {
				if other := taken[n]; other != "" {
					return fmt.Errorf("%s and %s have the same %s %s", other, f.name, word, n)
				}
				taken[n] = f.name
			}
		}
	}
	for n := range len(bits) {
		if bits[strconv.Itoa(n)] == "" {
			return fmt.Errorf("no field has the bit %d", n)
		}
	}
	for n := range len(places) {
		if places[strconv.Itoa(n+1)] == "" {
			return fmt.Errorf("no field has the place %d", n+1)
		}
	}
	if len(bits) > 48 {
		return fmt.Errorf("%d bits: the digest has room for 48", len(bits))
	}
	return nil
}

// sorted returns the structs by name.
func (m *model) sorted() []*structure {
	var all []*structure
	for _, name := range slices.Sorted(maps.Keys(m.structs)) {
		all = append(all, m.structs[name])
	}
	return all
}

// by returns the fields that have a number behind a word, in the order of these numbers.
func (s *structure) by(word string) []*field {
	var fs []*field
	for _, f := range s.fields {
		if f.is(word) {
			fs = append(fs, f)
		}
	}
	number := func(f *field) int { n, _ := strconv.Atoi(f.tag[word]); return n }
	slices.SortFunc(fs, func(a, b *field) int { return number(a) - number(b) })
	return fs
}

// group returns a field and the fields that are with it.
func (s *structure) group(f *field) []*field {
	fs := []*field{f}
	for _, o := range s.fields {
		if o.tag["with"] == f.name {
			fs = append(fs, o)
		}
	}
	return fs
}

// lower returns a name that begins in lower case.
func lower(name string) string { return strings.ToLower(name[:1]) + name[1:] }

// article puts "a" or "an" before a name.
func article(name string) string {
	if strings.ContainsRune("AEIOU", rune(name[0])) {
		return "an " + name
	}
	return "a " + name
}

// as converts an expression to a type, if it has another.
func as(to, from, expr string) string {
	if to == from {
		return expr
	}
	return to + "(" + expr + ")"
}

// filled is the condition that a value is not empty. Of structs only Payload can be, by its method.
func filled(x string, t typ) string {
	switch t.kind {
	case "string":
		return x + ` != ""`
	case "bool":
		return x
	case "bytes", "list":
		return "len(" + x + ") > 0"
	case "pointer":
		return x + " != nil"
	case "struct":
		return "!" + x + ".isZero()"
	}
	return x + " != 0"
}

// anyFilled is the condition that one of these fields of x is not empty.
func anyFilled(fs []*field) string {
	var all []string
	for _, f := range fs {
		all = append(all, filled("x."+f.name, f.typ))
	}
	return strings.Join(all, " || ")
}
