// Package form writes answers in the form that -o names: as the API's JSON, a line for each thing, YAML, or names alone (SPEC U3).
package form

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/taskrt/taskrt/internal/terminal"
)

// Form is what -o names.
type Form string

// The forms. The first two are tables for people.
const (
	Table Form = "table"
	Wide  Form = "wide"
	JSON  Form = "json"
	Lines Form = "jsonl"
	YAML  Form = "yaml"
	Names Form = "name"
)

// All are the forms, in the order in which they are named.
var All = []Form{Table, Wide, JSON, Lines, YAML, Names}

// Usage says what -o is for.
const Usage = "table for people, wide for one with more columns; for programs json, exactly the API's JSON, jsonl, one thing a line, yaml, or name, names and IDs alone"

// Parse finds the form that a word names, in any case.
func Parse(word string) (Form, error) {
	f := Form(strings.ToLower(word))
	if !slices.Contains(All, f) {
		return "", fmt.Errorf("must be table, wide, json, jsonl, yaml or name, not %q", word)
	}
	return f, nil
}

// IsTable reports whether people read it.
func (f Form) IsTable() bool { return f == Table || f == Wide }

// ShowsCursor reports whether a page says itself where the next one begins.
func (f Form) ShowsCursor() bool { return f == JSON || f == YAML }

// Printer writes answers one after the other.
type Printer struct {
	form Form
	out  *terminal.Output
	more bool // it has written some already
}

// New makes a Printer of a form that is no table.
func New(f Form, out *terminal.Output) *Printer { return &Printer{form: f, out: out} }

// Write writes an answer, which is JSON. What is not the API's own JSON is safe on terminals.
func (w *Printer) Write(answer []byte) (err error) {
	var text []byte
	switch w.form {
	case Lines:
		text, err = lines(answer)
	case YAML:
		text, err = document(answer, w.more)
	case Names:
		text, err = names(answer)
	default:
		_, err = w.out.Exact().Write(answer)
		return err
	}
	if err != nil {
		return err
	}
	w.more = true
	return w.out.Content(bytes.NewReader(text))
}

// Encode writes a value as the API would answer it.
func (w *Printer) Encode(v any) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	return w.Write(text.Bytes())
}

// lines are the things of an answer, each on a line.
func lines(answer []byte) ([]byte, error) {
	var out bytes.Buffer
	all, err := things(answer)
	for _, thing := range all {
		if err == nil {
			err = json.Compact(&out, thing)
			out.WriteByte('\n')
		}
	}
	return out.Bytes(), err
}

// errNameless is about an answer that is of nothing with a name.
var errNameless = errors.New("nothing that is answered has a name: -o json shows all of it")

// names are the names of what an answer is of, each on a line.
func names(answer []byte) ([]byte, error) {
	all, err := things(answer)
	if err != nil {
		return nil, err
	}
	var out strings.Builder
	for _, thing := range all {
		if name := nameOf(thing); name != "" {
			out.WriteString(terminal.Cell(name) + "\n")
		} else if list := inside(thing); list != nil {
			for _, thing := range list {
				out.WriteString(terminal.Cell(nameOf(thing)) + "\n")
			}
		} else if string(thing) != "null" { // what has been removed
			return nil, errNameless
		}
	}
	return []byte(out.String()), nil
}

// inside are the named things in an answer that has no name itself, like the answers to a submit and about the whole cluster: the object in it, or
// its first list of objects.
func inside(answer []byte) []json.RawMessage {
	all, err := members(answer)
	if err != nil {
		return nil
	}
	for _, m := range all {
		if m.value[0] == '{' && nameOf(m.value) != "" {
			return []json.RawMessage{m.value}
		}
		if list, is := objects(m.value); is && len(list) > 0 && nameOf(list[0]) != "" {
			return list
		}
	}
	return nil
}

// things are what an answer is of: the elements of a list, or the one object in it, or the answer itself.
func things(answer []byte) ([]json.RawMessage, error) {
	answer = bytes.TrimSpace(answer)
	if len(answer) == 0 {
		return nil, nil
	}
	self := []json.RawMessage{answer}
	if list, is := objects(answer); is {
		return list, nil
	}
	all, err := members(answer)
	if err != nil || nameOf(answer) != "" {
		return self, err
	}
	var lists []json.RawMessage
	for _, m := range all {
		switch m.value[0] {
		case '{':
			if len(all) == 1 {
				return []json.RawMessage{m.value}, nil
			}
			return self, nil
		case '[':
			lists = append(lists, m.value)
		}
	}
	if len(lists) != 1 {
		return self, nil
	}
	if list, is := objects(lists[0]); is {
		return list, nil
	}
	return self, nil
}

// member is a name and a value in an object.
type member struct {
	name  string
	value json.RawMessage
}

// members are the members of an object in their order; nil if the text is something else.
func members(text []byte) (all []member, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	if first, err := d.Token(); err != nil || first != json.Delim('{') {
		return nil, err
	}
	for d.More() {
		var m member
		name, err := d.Token()
		if err == nil {
			err = d.Decode(&m.value)
		}
		if err != nil {
			return nil, err
		}
		m.name = name.(string) // JSON has no other
		all = append(all, m)
	}
	return all, nil
}

// objects are the elements of a list of objects. Those of removed tasks are null.
func objects(text json.RawMessage) (list []json.RawMessage, is bool) {
	if json.Unmarshal(text, &list) != nil {
		return nil, false
	}
	for _, element := range list {
		if element[0] != '{' && string(element) != "null" {
			return nil, false
		}
	}
	return list, true
}

// naming are the members that can name a thing. The first that is there names it.
var naming = []string{"id", "name", "run", "number", "digest", "code"}

// nameOf is the name of an object, or "".
func nameOf(text []byte) string {
	all, _ := members(text)
	for _, by := range naming {
		for _, m := range all {
			var name string
			switch {
			case m.name != by || m.value[0] == '{' || m.value[0] == '[':
			case json.Unmarshal(m.value, &name) == nil:
				return name
			default:
				return string(m.value)
			}
		}
	}
	return ""
}
