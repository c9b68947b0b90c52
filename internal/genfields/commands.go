package main

import (
	"fmt"
	"strings"
)

// commandTable writes what package wire does by the kind of a command: see task/wire/command.go.
func commandTable(m *model, s *source) error {
	s.imports = []string{"fmt", importTask}
	s.add("// These are the numbers of commands in the log.")
	s.add("const (")
	for _, c := range m.commands {
		s.add("kind%s uint64 = %d", c.name, c.number)
	}
	s.add(")\n")

	s.add("func kindOf(c task.Command) (uint64, error) {\nswitch c.(type) {")
	for _, c := range m.commands {
		s.add("case task.%s:\nreturn kind%s, nil", c.name, c.name)
	}
	s.add("}\nreturn 0, fmt.Errorf(\"%%w: %%T (commands are values, not pointers)\", ErrUnknownCommand, c)\n}\n")

	s.add("// decodeCommand decodes a command by the library.")
	s.add("func decodeCommand(kind uint64, b []byte) (task.Command, []byte, error) {\nswitch kind {")
	for _, c := range m.commands {
		s.add("case kind%s:\nreturn decode[task.%s](b)", c.name, c.name)
	}
	s.add("}\nreturn nil, nil, fmt.Errorf(\"%%w: number %%d\", ErrUnknownCommand, kind)\n}\n")

	m.longest(s)
	return m.withoutLibrary(s)
}

// withoutLibrary writes the switches over the commands that are written and read without the library.
func (m *model) withoutLibrary(s *source) error {
	s.add("// appendCommand appends the encoding of c. It returns false if only the library can write c, or nobody may: see longest.")
	s.add("func appendCommand(b []byte, c task.Command) ([]byte, bool) {\nf := beginFields(b)\nswitch x := c.(type) {")
	for _, c := range m.commands {
		x := m.structs[c.name]
		if x.wire == "" {
			continue
		}
		s.add("case task.%s:", c.name)
		if m.lists(typ{kind: "struct", name: c.name}) {
			s.add("if longestIn%s(&x) > maxArray {\nreturn b, false\n}", c.name)
		}
		if len(x.fields) > fewFields {
			s.add("f.%s(&x)", lower(c.name))
		} else {
			if err := m.appendFields(s, "f", x); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
	}
	s.add("default:\nreturn b, false\n}\nreturn f.b, true\n}\n")

	s.add("// command reads a command that appendCommand writes. It returns nil for another command.")
	s.add("func (r *reader) command(kind uint64) task.Command {\nswitch kind {")
	for _, c := range m.commands {
		switch x := m.structs[c.name]; {
		case x.wire == "":
		case len(x.fields) == 0:
			s.add("case kind%s:\nif f := r.fields(); f.n > 0 {\nr.bad = true\n}\nreturn task.%s{}", c.name, c.name)
		default:
			s.add("case kind%s:\nreturn r.%s()", c.name, lower(c.name))
		}
	}
	s.add("}\nreturn nil\n}\n")
	return nil
}

// lists reports whether a list is somewhere in a type.
func (m *model) lists(t typ) bool {
	if t.kind == "list" {
		return true
	}
	if of := m.structs[t.name]; of != nil && (t.kind == "struct" || t.kind == "pointer") {
		for _, f := range of.fields {
			if m.lists(f.typ) || f.is("list") {
				return true
			}
		}
	}
	return false
}

// longest writes what finds the longest list in a command.
func (m *model) longest(s *source) {
	s.add("// longest returns the length of the longest list in c, however deep. Everything that is committed must be readable, so a list that")
	s.add("// decoding would refuse must not be encoded.")
	s.add("func longest(c task.Command) int {\nswitch c := c.(type) {")
	met := map[string]bool{}
	for _, c := range m.commands {
		if t := (typ{kind: "struct", name: c.name}); m.lists(t) {
			s.add("case task.%s:\nreturn longestIn%s(&c)", c.name, c.name)
			m.meet(t, met)
		}
	}
	s.add("}\nreturn 0\n}\n")
	for _, x := range m.sorted() {
		if !met[x.name] {
			continue
		}
		m.longestInStruct(s, x)
	}
}

func (m *model) longestInStruct(s *source, x *structure) {
	var some []string // lengths that are there at once
	var rest source
	for _, f := range x.fields {
		if f.is("list") {
			some = append(some, fmt.Sprintf("len(x.%s.%s)", f.name, f.tag["list"]))
		} else if m.lists(f.typ) {
			some = append(some, m.longestIn(&rest, f)...)
		}
	}
	longest := strings.Join(some, ", ")
	if len(some) > 1 {
		longest = "max(" + longest + ")"
	}
	switch {
	case rest.body.Len() == 0:
		s.add("func longestIn%s(x *task.%s) int { return %s }\n", x.name, x.name, longest)
		return
	case len(some) > 0:
		longest = "n = " + longest + "\n"
	}
	s.add("func longestIn%s(x *task.%s) (n int) {\n%s%sreturn n\n}\n", x.name, x.name, longest, rest.body.String())
}

// meet notes the structs with lists that t consists of.
func (m *model) meet(t typ, met map[string]bool) {
	of := m.structs[t.name]
	if of == nil || met[of.name] || !m.lists(typ{kind: "struct", name: of.name}) {
		return
	}
	met[of.name] = true
	for _, f := range of.fields {
		m.meet(f.typ, met)
	}
}

// longestIn returns the lengths in a field that are there at once, and writes what looks for others.
func (m *model) longestIn(s *source, f *field) (some []string) {
	x, t := "x."+f.name, f.typ
	deep := m.structs[t.name] != nil && m.lists(typ{kind: "struct", name: t.name})
	switch t.kind {
	case "struct":
		some = append(some, fmt.Sprintf("longestIn%s(&%s)", t.name, x))
	case "pointer":
		s.add("if %s != nil {\nn = max(n, longestIn%s(%s))\n}", x, t.name, x)
	case "list":
		some = append(some, fmt.Sprintf("len(%s)", x))
		switch {
		case deep && t.elem.kind == "pointer":
			s.add("for _, y := range %s {\nif y != nil {\nn = max(n, longestIn%s(y))\n}\n}", x, t.name)
		case deep:
			s.add("for i := range %s {\nn = max(n, longestIn%s(&%s[i]))\n}", x, t.name, x)
		}
	}
	return some
}
