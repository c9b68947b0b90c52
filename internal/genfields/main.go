// Command genfields writes the code that goes through structs field by field: what is packed, what is hashed, what is encoded. It reads
// the structs of package task, and those of package api that are most frequent in JSON. The structs say by their tags what the code does
// with a field:
//
//	cbor:"17,keyasint,omitempty"  its number in every encoded form, and whether it is left out when it is empty
//	field:"bit=8,place=14"        of a Task: its bit among the fields that are not empty, and its place in the digest
//	field:"with=Attempt"          of a Task: it shares the bit and the place of that field
//	field:"head"                  of a Task: it is always there; the code by hand writes it
//	field:"running,place=13"      of a Task: only a running task has it; what is packed does not know it
//	field:"name"                  one of few texts: packed as a number of table.Names, read as a shared string
//	field:"shared"                read as a shared string
//	field:"fixed"                 packed as eight bytes
//	field:"blobs"                 a payload of a Task that may need blobs
//	field:"list=Objects"          a struct of another package, which has this list
//	field:"late"                  hashed behind its number, and only if it is not empty: the field is younger than the digest
//	field:"part=state"            hashed by a function of its own, with the others of that part
//	field:"hash=blob"             hashed by that method of hasher
//	field:"given=taskHash"        a record whose hash the caller knows
//	json:"id,omitempty"           its name in JSON, and whether it is left out when it is empty
//	field:"compact"               JSON that was checked, and has no white space
//
// What else a struct is used for, a line above it says:
//
//	//fields:packed               it is kept packed (Task)
//	//fields:hash record [Name]   hashName hashes it, with the kind hash.OfName
//	//fields:hash part            a method of hasher mixes it into another hash; "maybe": nil too; "list": a list of them;
//	                              "parts": a method mixes each part, and a hashName by hand puts them together
//	//fields:wire value           it is encoded without reflection, and read by value; "pointer": by pointer; "list": lists of it;
//	                              "append": package wire reads it by hand
//	//fields:json                 package codec writes it as JSON without reflection; "answer", "submit": and reads it so
//	//fields:commands             the list of commands with their numbers, of which //fields:wire ones are written without reflection
//
// Bits, places, numbers of fields and numbers of commands are contract. No two are equal, and none is left out: genfields refuses
// that.
//
//	go run ./internal/genfields         writes the files, as go generate ./task does
//	go run ./internal/genfields -check  only says which differ
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"go/format"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	check := flag.Bool("check", false, "write nothing: fail if a file is not what would be written")
	root := flag.String("root", ".", "the `directory` of go.mod")
	flag.Parse()
	if err := run(*root, *check); err != nil {
		fmt.Fprintln(os.Stderr, "genfields:", err)
		os.Exit(1)
	}
}

// run writes every file below root, or checks it.
func run(root string, check bool) error {
	m, err := parse(filepath.Join(root, "task"))
	if err != nil {
		return err
	}
	objects, err := parseObjects(root)
	if err != nil {
		return err
	}
	files, err := generate(m, objects)
	if err != nil {
		return err
	}
	var differ []error
	for _, f := range files {
		name := filepath.Join(root, f.name)
		is, err := os.ReadFile(name)
		switch {
		case err == nil && bytes.Equal(is, f.text):
		case check:
			differ = append(differ, fmt.Errorf("%s is not what its structs give: go generate ./task", f.name))
		default:
			if err := os.WriteFile(name, f.text, 0o644); err != nil { //nolint:gosec // source that all may read
				return err
			}
		}
	}
	return errors.Join(differ...)
}

// file is one generated file, by its name below the root.
type file struct {
	name string
	text []byte
}

// generate makes all files.
func generate(m *model, os objects) ([]file, error) {
	var files []file
	for _, f := range []struct {
		name string
		make func(*source) error
	}{
		{"task/pack_gen.go", func(s *source) error { return packed(m, s) }},
		{"task/digest_gen.go", func(s *source) error { return digests(m, s) }},
		{"task/wire/append_gen.go", func(s *source) error { return appends(m, s) }},
		{"task/wire/read_gen.go", func(s *source) error { return reads(m, s) }},
		{"task/wire/command_gen.go", func(s *source) error { return commandTable(m, s) }},
		{"api/internal/codec/append_gen.go", func(s *source) error { return jsonAppends(os, s) }},
		{"api/internal/codec/read_gen.go", func(s *source) error { return jsonReads(os, s) }},
	} {
		s := &source{pkg: filepath.Base(filepath.Dir(f.name))}
		if err := f.make(s); err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		text, err := s.format()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		files = append(files, file{f.name, text})
	}
	return files, nil
}

// source is a Go file that grows.
type source struct {
	pkg     string
	imports []string
	body    bytes.Buffer
}

// add appends a line, or several.
func (s *source) add(format string, args ...any) {
	fmt.Fprintf(&s.body, format, args...)
	s.body.WriteByte('\n')
}

// format returns the whole file as gofmt has it.
func (s *source) format() ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "// Code generated by internal/genfields from tags of structs; DO NOT EDIT.\n\npackage %s\n\n", s.pkg)
	s.writeImports(&b)
	b.Write(s.body.Bytes())
	text, err := format.Source(b.Bytes())
	if err != nil {
		return nil, fmt.Errorf("%w in\n%s", err, b.Bytes())
	}
	return text, nil
}

// writeImports writes what of the imports the body uses, the standard library's first.
func (s *source) writeImports(b *bytes.Buffer) {
	var standard, own string
	slices.Sort(s.imports)
	for _, i := range s.imports {
		switch line := fmt.Sprintf("%q\n", i); {
		case !bytes.Contains(s.body.Bytes(), []byte(path.Base(i)+".")):
		case strings.HasPrefix(i, "github.com/"):
			own += line
		default:
			standard += line
		}
	}
	if standard+own != "" {
		fmt.Fprintf(b, "import (\n%s\n%s)\n\n", standard, own)
	}
}
