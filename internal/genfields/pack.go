package main

import "fmt"

// packed writes what packs and unpacks a Task: see task/pack.go. What is packed stands in the order of the places in the digest. It
// lives in memory only.
func packed(m *model, s *source) error {
	for _, x := range m.sorted() {
		if !x.packed {
			continue
		}
		presence(s, x)
		if err := m.packNames(s, x); err != nil {
			return err
		}
		if err := m.packFields(s, x); err != nil {
			return err
		}
		if err := m.unpackFields(s, x); err != nil {
			return err
		}
		payloads(s, x)
	}
	return nil
}

// presence writes the bits and what sets them.
func presence(s *source, x *structure) {
	s.add("// Bits of the fields that a %s has.", x.name)
	s.add("const (")
	for _, f := range x.by("bit") {
		s.add("has%s uint64 = 1 << %s", f.name, f.tag["bit"])
	}
	s.add(")\n")
	s.add("// fieldsOf returns which fields of x are not empty. It is part of the digest (hashTask).")
	s.add("func fieldsOf(x *%s) (has uint64) {", x.name)
	for _, f := range x.by("bit") {
		s.add("if %s {\nhas |= has%s\n}", anyFilled(x.group(f)), f.name)
	}
	s.add("return has\n}\n")
	for _, f := range x.fields {
		if f.is("running") {
			s.add("// runs reports whether x has what only a running task has. What is packed does not know it.")
			s.add("func runs(x *%s) bool { return %s }\n", x.name, anyFilled(x.group(f)))
		}
	}
}

// packNames writes the function that packs the names: values that are numbers of table.Names.
func (m *model) packNames(s *source, x *structure) error {
	var count, write source
	for _, f := range x.by("place") {
		names := m.namesOf(f)
		if len(names) == 0 {
			continue
		}
		if f.typ.kind == "list" {
			count.add("count += %d * len(x.%s)", len(names), f.name)
			write.add("for i := range x.%s {\ny := &x.%s[i]", f.name, f.name)
		} else {
			count.add("if %s {\ncount%s\n}", filled("x."+f.name, f.typ), plus(len(names)))
			write.add("if %s {", filled("x."+f.name, f.typ))
		}
		for _, name := range names {
			write.add("p.Uint(uint64(p.table.Use(%s)))", name)
		}
		write.add("}")
	}
	s.add("// names writes the names of x, in the order in which unpacker.fields meets them.")
	s.add("func (p *packer) names(x *%s) {", x.name)
	s.add("count := 0\n%sp.Uint(uint64(count))\n%s}\n", count.body.String(), write.body.String())
	return nil
}

// plus adds n.
func plus(n int) string {
	if n == 1 {
		return "++"
	}
	return fmt.Sprintf(" += %d", n)
}

// namesOf lists the names in a field of x: in a list, of its element y.
func (m *model) namesOf(f *field) []string {
	if f.typ.kind == "string" && f.is("name") {
		return []string{"x." + f.name}
	}
	of := m.structs[f.typ.name]
	if of == nil {
		return nil
	}
	var names []string
	for _, g := range of.fields {
		switch {
		case !g.is("name"):
		case f.typ.kind == "list":
			names = append(names, "y."+g.name)
		default:
			names = append(names, "x."+f.name+"."+g.name)
		}
	}
	return names
}

func (m *model) packFields(s *source, x *structure) error {
	s.add("// fields writes the fields of x that are not empty.")
	s.add("func (p *packer) fields(x *%s, has uint64) {", x.name)
	for _, f := range x.by("place") {
		var body source
		for _, o := range x.group(f) {
			if err := m.pack(&body, "x."+o.name, o, o.typ); err != nil {
				return fmt.Errorf("%s: %w", o.name, err)
			}
		}
		if !f.is("running") && body.body.Len() > 0 {
			s.add("if has&has%s != 0 {\n%s}", f.name, body.body.String())
		}
	}
	s.add("}\n")
	return nil
}

func (m *model) pack(s *source, x string, f *field, t typ) error {
	switch {
	case f.is("name"): // among the names
	case t.name == "Time":
		s.add("p.instant(%s)", x)
	case t.kind == "string":
		s.add("p.Text(%s)", as("string", t.name, x))
	case t.kind == "bool":
		s.add("p.Bool(%s)", x)
	case t.kind == "uint8":
		s.add("p.Byte(%s)", as("byte", t.name, x))
	case t.kind == "uint64" && f.is("fixed"):
		s.add("p.Fixed(%s)", as("uint64", t.name, x))
	case t.unsigned():
		s.add("p.Uint(%s)", as("uint64", t.name, x))
	case t.signed():
		s.add("p.Int(%s)", as("int64", t.name, x))
	case t.name == "Payload" && t.kind == "struct":
		s.add("p.payload(&%s)", x)
	case t.kind == "pointer" || t.kind == "struct" || t.kind == "list":
		y := x
		if t.kind == "list" {
			y = "y"
			s.add("p.Uint(uint64(len(%s)))\nfor i := range %s {\ny := &%s[i]", x, x, x)
		}
		of := m.structs[t.name]
		if of == nil {
			return fmt.Errorf("nothing packs a list of %s", t.name)
		}
		for _, g := range of.fields {
			if err := m.pack(s, y+"."+g.name, g, g.typ); err != nil {
				return fmt.Errorf("%s: %w", g.name, err)
			}
		}
		if t.kind == "list" {
			s.add("}")
		}
	default:
		return fmt.Errorf("nothing packs a %s", t.kind)
	}
	return nil
}

func (m *model) unpackFields(s *source, x *structure) error {
	s.add("// fields reads what packer.fields has written.")
	s.add("func (u *unpacker) fields(x *%s, has uint64) {", x.name)
	for _, f := range x.by("bit") {
		if f.typ.kind == "bool" {
			s.add("x.%s = has&has%s != 0", f.name, f.name)
		}
	}
	for _, f := range x.by("place") {
		if f.is("running") {
			continue
		}
		s.add("if has&has%s != 0 {", f.name)
		for _, o := range x.group(f) {
			if o.typ.kind == "list" {
				value, err := m.unpack(o, *o.typ.elem)
				if err != nil {
					return fmt.Errorf("%s: %w", o.name, err)
				}
				s.add("x.%s = make([]%s, u.Uint())\nfor i := range x.%s {\nx.%s[i] = %s\n}", o.name, o.typ.name, o.name, o.name, value)
				continue
			}
			value, err := m.unpack(o, o.typ)
			if err != nil {
				return fmt.Errorf("%s: %w", o.name, err)
			}
			s.add("x.%s = %s", o.name, value)
		}
		s.add("}")
	}
	s.add("}\n")
	return nil
}

// unpack returns the expression that reads a value.
func (m *model) unpack(f *field, t typ) (string, error) {
	switch {
	case f.is("name"):
		return as(t.name, "string", "u.name()"), nil
	case t.name == "Time":
		return "u.instant()", nil
	case t.kind == "string":
		return as(t.name, "string", "u.Text()"), nil
	case t.kind == "bool":
		return "u.Byte() != 0", nil
	case t.kind == "uint8":
		return as(t.name, "byte", "u.Byte()"), nil
	case t.kind == "uint64" && f.is("fixed"):
		return as(t.name, "uint64", "u.Fixed()"), nil
	case t.unsigned():
		return as(t.name, "uint64", "u.Uint()"), nil
	case t.signed():
		return as(t.name, "int64", "u.Int()"), nil
	case t.name == "Payload" && t.kind == "struct":
		return "u.payload()", nil
	case t.kind == "pointer" || t.kind == "struct":
		of := m.structs[t.name]
		if of == nil {
			return "", fmt.Errorf("there is no struct %s", t.name)
		}
		value := t.name + "{\n"
		if t.kind == "pointer" {
			value = "&" + value
		}
		for _, g := range of.fields {
			one, err := m.unpack(g, g.typ)
			if err != nil {
				return "", fmt.Errorf("%s: %w", g.name, err)
			}
			value += g.name + ": " + one + ",\n"
		}
		return value + "}", nil
	}
	return "", fmt.Errorf("nothing unpacks a %s", t.kind)
}

// payloads writes the lists of a Task's payloads.
func payloads(s *source, x *structure) {
	for _, list := range []struct {
		name, what string
		has        func(*field) bool
	}{
		{"everyPayload", "the payloads of x", func(*field) bool { return true }},
		{"payloads", "the payloads of x that may need blobs", func(f *field) bool { return f.is("blobs") }},
	} {
		n, all := 0, ""
		for _, f := range x.fields {
			if f.typ.kind == "struct" && f.typ.name == "Payload" && list.has(f) {
				n++
				all += "&x." + f.name + ", "
			}
		}
		s.add("// %s returns %s.", list.name, list.what)
		s.add("func (x *%s) %s() [%d]*Payload { return [...]*Payload{%s} }\n", x.name, list.name, n, all)
	}
}
