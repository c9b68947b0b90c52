package main

import (
	"fmt"
	"strings"
)

// digests writes what hashes the structs: see task/digest.go. Fields are mixed in the order of their numbers, fields of a Task in the order of their
// places.
func digests(m *model, s *source) error {
	s.imports = []string{"github.com/taskrt/taskrt/task/hash"}
	for _, x := range m.sorted() {
		if x.packed {
			if err := m.placed(s, x); err != nil {
				return err
			}
		}
		if x.hash == nil {
			continue
		}
		parts := []string{""}
		for _, f := range x.fields {
			if part := f.tag["part"]; part != "" && part != parts[len(parts)-1] {
				parts = append(parts, part)
			}
		}
		for _, part := range parts {
			if err := m.hashed(s, x, part); err != nil {
				return fmt.Errorf("%s: %w", x.name, err)
			}
		}
	}
	return nil
}

// hashName is what the function that hashes a record is called, behind hash.
func (x *structure) hashName() string {
	if len(x.hash) > 1 {
		return x.hash[1]
	}
	return x.name
}

// hashed writes the function that hashes a struct, or one part of it.
func (m *model) hashed(s *source, x *structure, part string) error {
	method := lower(x.name)
	if part != "" {
		method += strings.ToUpper(part[:1]) + part[1:]
	}
	switch x.hash[0] {
	case "record":
		name := x.hashName()
		s.add("// hash%s hashes every field of %s.", name, article(x.name))
		s.add("func hash%s(x *%s) uint64 {", name, x.name)
		s.add("h := newHasher(hash.Of%s)", name)
	case "list":
		s.add("func (h *hasher) %ss(xs []%s) {", method, x.name)
		s.add("h.Word(uint64(len(xs)))")
		s.add("for i := range xs {\nx := &xs[i]")
	case "maybe":
		s.add("func (h *hasher) %s(x *%s) {", method, x.name)
		s.add("h.Bool(x != nil)\nif x == nil {\nreturn\n}")
	default:
		given := ""
		for _, f := range x.fields {
			if f.is("given") {
				given += ", " + f.tag["given"] + " uint64"
			}
		}
		s.add("func (h *hasher) %s(x *%s%s) {", method, x.name, given)
	}
	for _, f := range x.fields {
		if f.tag["part"] == part {
			if err := m.mixField(s, f); err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
		}
	}
	switch x.hash[0] {
	case "record":
		s.add("return h.Sum()")
	case "list":
		s.add("}")
	}
	s.add("}\n")
	return nil
}

// placed writes the part of hashTask that is about the fields with places.
func (m *model) placed(s *source, x *structure) error {
	s.add("// fields mixes the fields of a %s that are not empty. It mixes nothing of the others: a task that waits has few.", x.name)
	s.add("func (h *hasher) fields(x *%s, has uint64) {", x.name)
	for _, f := range x.by("place") {
		switch {
		case f.is("running"):
			s.add("busy := runs(x)\nh.Bool(busy)\nif busy {")
		default:
			s.add("if has&has%s != 0 {", f.name)
		}
		for _, o := range x.group(f) {
			t := o.typ
			if t.kind == "pointer" && !m.maybe(t) { // the bit says that it is there
				t = *t.elem
				if err := m.mix(s, "x."+o.name, "", t, 0); err != nil {
					return fmt.Errorf("%s: %w", o.name, err)
				}
			} else if err := m.mixField(s, o); err != nil {
				return fmt.Errorf("%s: %w", o.name, err)
			}
		}
		s.add("}")
	}
	s.add("}\n")
	return nil
}

// maybe reports whether a method mixes what a pointer points to, and nil.
func (m *model) maybe(t typ) bool {
	of := m.structs[t.name]
	return of != nil && of.hash != nil && of.hash[0] == "maybe"
}

// mixField mixes the field f of x.
func (m *model) mixField(s *source, f *field) error {
	x := "x." + f.name
	switch {
	case f.is("hash"):
		s.add("h.%s(&%s)", f.tag["hash"], x)
		return nil
	case f.is("given"):
		s.add("h.Bool(%s != nil)\nh.Word(%s)", x, f.tag["given"])
		return nil
	case f.is("late"):
		s.add("if %s {\nh.Word(%d)", filled(x, f.typ), f.number)
		defer s.add("}")
	}
	return m.mix(s, x, "&", f.typ, 0)
}

// inner are the names of elements of lists, by depth.
var inner = []string{"y", "z"}

// mix mixes the value x of a type. ref stands before x where a pointer is needed: "" if x is one.
func (m *model) mix(s *source, x, ref string, t typ, depth int) error {
	switch {
	case t.kind == "string":
		s.add("h.Str(%s)", as("string", t.name, x))
	case t.kind == "bool":
		s.add("h.Bool(%s)", x)
	case t.signed():
		s.add("h.Int(%s)", as("int64", t.name, x))
	case t.unsigned():
		s.add("h.Word(%s)", as("uint64", t.name, x))
	case t.kind == "bytes":
		s.add("h.Bytes(%s)", x)
	case t.kind == "struct":
		return m.mixStruct(s, x, ref, t, depth)
	case t.kind == "pointer" && m.maybe(t):
		s.add("h.%s(%s)", lower(t.name), x)
	case t.kind == "pointer":
		s.add("h.Bool(%s != nil)\nif %s != nil {", x, x)
		if err := m.mix(s, x, "", *t.elem, depth); err != nil {
			return err
		}
		s.add("}")
	case t.kind == "list":
		return m.mixList(s, x, t, depth)
	default:
		return fmt.Errorf("nothing mixes a %s", t.kind)
	}
	return nil
}

func (m *model) mixStruct(s *source, x, ref string, t typ, depth int) error {
	of := m.structs[t.name]
	switch {
	case of == nil:
		return fmt.Errorf("there is no struct %s", t.name)
	case of.packed || of.hash != nil && of.hash[0] == "parts":
		s.add("h.Word(hash%s(%s%s))", t.name, ref, x)
		return nil
	case of.hash != nil && of.hash[0] == "record":
		s.add("h.Word(hash%s(%s%s))", of.hashName(), ref, x)
		return nil
	case of.hash != nil && of.hash[0] == "part":
		s.add("h.%s(%s%s)", lower(t.name), ref, x)
		return nil
	}
	for _, f := range of.fields {
		if len(f.tag) > 0 && (f.is("late") || f.is("hash") || f.is("part") || f.is("given")) {
			return fmt.Errorf("%s.%s needs a function of its own: //fields:hash part", t.name, f.name)
		}
		if err := m.mix(s, x+"."+f.name, "&", f.typ, depth); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return nil
}

func (m *model) mixList(s *source, x string, t typ, depth int) error {
	of := m.structs[t.name]
	switch {
	case t.elem.kind == "string":
		s.add("h.Strs(%s)", x)
		return nil
	case t.elem.kind == "uint64":
		s.add("h.Words(%s)", x)
		return nil
	case of != nil && of.hash != nil && of.hash[0] == "list":
		s.add("h.%ss(%s)", lower(t.name), x)
		return nil
	case depth == len(inner):
		return fmt.Errorf("lists in lists in lists")
	}
	y := inner[depth]
	s.add("h.Word(uint64(len(%s)))", x)
	if t.elem.kind == "pointer" {
		s.add("for _, %s := range %s {", y, x)
	} else {
		s.add("for i := range %s {\n%s := &%s[i]", x, y, x)
	}
	if err := m.mix(s, y, "", *t.elem, depth+1); err != nil {
		return err
	}
	s.add("}")
	return nil
}
