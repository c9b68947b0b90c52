package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGenerated: the committed files are what their structs give. After a change of a struct: go generate ./task
func TestGenerated(t *testing.T) {
	root := filepath.Join("..", "..")
	if err := run(root, true); err != nil {
		t.Error(err)
	}
	committed := 0
	for _, dir := range []string{"task", "task/wire", "api/internal/codec"} {
		names, err := filepath.Glob(filepath.Join(root, dir, "*_gen.go"))
		if err != nil {
			t.Fatal(err)
		}
		committed += len(names)
	}
	m, err := parse(filepath.Join(root, "task"))
	if err != nil {
		t.Fatal(err)
	}
	objects, err := parseObjects(root)
	if err != nil {
		t.Fatal(err)
	}
	files, err := generate(m, objects)
	if err != nil || len(files) != committed {
		t.Errorf("%d files are generated and %d committed, %v", len(files), committed, err)
	}
}

// TestCheckSeesADifference: run writes what is not there, and -check fails for what is not as it was written.
func TestCheckSeesADifference(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"task/wire", "api/internal/codec"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o750); err != nil {
			t.Fatal(err)
		}
	}
	source := filepath.Join(root, "task", "task.go")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(source, valid)
	write(filepath.Join(root, "api", "types.go"), validJSON)
	write(filepath.Join(root, "api", "types_work.go"), "package api")
	write(filepath.Join(root, "api", "internal", "codec", "wire.go"), "package codec")
	if err := run(root, true); err == nil {
		t.Error("files that are not there are as they should be")
	}
	if err := run(root, false); err != nil {
		t.Fatal(err)
	}
	if err := run(root, true); err != nil {
		t.Errorf("what was just written: %v", err)
	}
	write(source, strings.Replace(valid, "bit=1,place=2,name", "bit=1,place=2", 1))
	if err := run(root, true); err == nil {
		t.Error("a struct was changed, and the files are as they should be")
	}
	write(source, strings.Replace(strings.Replace(valid, "place=2", "place=9", 1), "place=1", "place=2", 1))
	if err := run(root, true); err == nil || !strings.Contains(err.Error(), "place") {
		t.Errorf("places 9 and 2: %v", err)
	}
}

// valid is a small package task.
const valid = `package task

type Millis int64

//fields:packed
//fields:wire pointer
type Task struct {
	ID     string ` + "`" + `cbor:"1,keyasint" field:"head"` + "`" + `
	Wait   Millis ` + "`" + `cbor:"2,keyasint,omitempty" field:"bit=0,place=1"` + "`" + `
	Text   string ` + "`" + `cbor:"3,keyasint,omitempty" field:"bit=1,place=2,name"` + "`" + `
	Count  int64  ` + "`" + `cbor:"4,keyasint,omitempty" field:"with=Wait"` + "`" + `
	Cancel bool   ` + "`" + `cbor:"5,keyasint,omitempty" field:"bit=2"` + "`" + `
	Derived int64 ` + "`" + `cbor:"-"` + "`" + `
}

//fields:hash record
type Space struct {
	Name string ` + "`" + `cbor:"1,keyasint"` + "`" + `
	Late int64  ` + "`" + `cbor:"7,keyasint,omitempty" field:"late"` + "`" + `
	Gone uint64 ` + "`" + `cbor:"4,keyasint,omitempty"` + "`" + `
}

//fields:wire value
type Move struct {
	Space string ` + "`" + `cbor:"1,keyasint" field:"shared"` + "`" + `
}

func (c Move) apply(m *Machine) Result { return Result{} }

type Stop struct {
	Names [][]string
	Tasks []*Task ` + "`" + `cbor:"1,keyasint"` + "`" + `
}

func (c Stop) apply(m *Machine) Result { return Result{} }

//fields:commands
var (
	_ Command = Move{} // 1
	_ Command = Stop{} // 2
)
`

// validJSON is a small package api.
const validJSON = `package api

//fields:json answer
type Task struct {
	Note   string ` + "`" + `json:"note,omitempty"` + "`" + `
	ID     string ` + "`" + `json:"id"` + "`" + `
	Status string ` + "`" + `json:"status" field:"shared"` + "`" + `
	Since  *Time  ` + "`" + `json:"since,omitempty"` + "`" + `
	Runs   []Run  ` + "`" + `json:"runs"` + "`" + `
	Lease  *Lease ` + "`" + `json:"lease,omitempty"` + "`" + `
	Wait   int    ` + "`" + `json:"-"` + "`" + `
}

//fields:json answer
type Run struct {
	Number int64 ` + "`" + `json:"number"` + "`" + `
}

//fields:json submit
type Submit struct {
	Params   json.RawMessage ` + "`" + `json:"params,omitempty" field:"compact"` + "`" + `
	Priority *int            ` + "`" + `json:"priority"` + "`" + `
}
`

func generated(t *testing.T, source, types string) (map[string]string, error) {
	t.Helper()
	m, err := parseFiles(map[string][]byte{"task.go": []byte(source)})
	if err != nil {
		return nil, err
	}
	objects, err := parseObjectsOf("types.go", []byte(types), "api.")
	if err != nil {
		return nil, err
	}
	files, err := generate(m, objects)
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	for _, f := range files {
		texts[f.name] = string(bytes.Join(bytes.Fields(f.text), []byte(" ")))
	}
	return texts, nil
}

// TestWrites: what tags say stands in the files.
func TestWrites(t *testing.T) {
	files, err := generated(t, valid, validJSON)
	if err != nil {
		t.Fatal(err)
	}
	for name, wants := range map[string][]string{
		"task/pack_gen.go": {
			"hasWait uint64 = 1 << 0 hasText uint64 = 1 << 1 hasCancel uint64 = 1 << 2",
			"if x.Wait != 0 || x.Count != 0 { has |= hasWait }",
			"x.Cancel = has&hasCancel != 0",
			"if has&hasWait != 0 { x.Wait = Millis(u.Int()) x.Count = u.Int() }",
			`if x.Text != "" { p.Uint(uint64(p.table.Use(x.Text))) }`,
		},
		"task/digest_gen.go": {
			"h := newHasher(hash.OfSpace) h.Str(x.Name) h.Word(x.Gone) if x.Late != 0 { h.Word(7) h.Int(x.Late) } return h.Sum()",
			"if has&hasWait != 0 { h.Int(int64(x.Wait)) h.Int(x.Count) } if has&hasText != 0 { h.Str(x.Text) } }",
		},
		"task/wire/append_gen.go": {"g.text(1, x.ID) g.someInt(2, int64(x.Wait)) g.someText(3, x.Text) g.someInt(4, x.Count) g.someTrue(5, x.Cancel) f.b = g.b"},
		"task/wire/read_gen.go":   {"case 1: x.ID = r.text() case 2: x.Wait = task.Millis(r.int()) case 3: x.Text = r.name()", "x.Space = r.name()"},
		"api/internal/codec/append_gen.go": {
			"if x.Note != \"\" { b = append(appendString(append(b, `\"note\":`...), x.Note), ',') } b = appendString(append(b, `\"id\":`...), x.ID)",
			"b = appendList(append(b, `,\"runs\":`...), x.Runs, appendRun) if x.Lease != nil { b = Append(append(b, `,\"lease\":`...), x.Lease) } return b",
			"if len(x.Params) > 0 { b = append(append(append(b, `\"params\":`...), x.Params...), ',') }",
		},
		"api/internal/codec/read_gen.go": {
			`case "status": return a.Known(&x.Status, &a.status) case "since": return a.timeOrNil(&x.Since)`,
			`case "runs": return elements(a, &x.Runs, a.run)`,
			`case "lease": return a.other(&x.Lease) } return a.unknown(name)`,
			`hasParams = 1 << iota hasPriority`, `case "priority": return hasPriority, s.intOrNil(&x.Priority)`,
		},
		"task/wire/command_gen.go": {"kindMove uint64 = 1 kindStop uint64 = 2", "case kindStop: return decode[task.Stop](b)", "func longestInStop(x *task.Stop) int { return len(x.Tasks) }"},
	} {
		for _, want := range wants {
			if !strings.Contains(files[name], want) {
				t.Errorf("%s lacks %q in\n%s", name, want, files[name])
			}
		}
	}
}

// TestRefuses: numbers are contract, so none is there twice and none is missing; and what genfields cannot write, it does not.
func TestRefuses(t *testing.T) {
	for what, c := range map[string]struct{ old, new, want string }{
		"a bit twice":              {"bit=1,place=2", "bit=0,place=2", "Wait and Text have the same bit 0"},
		"a bit missing":            {"bit=1,place=2", "bit=3,place=2", "no field has the bit 1"},
		"a place twice":            {"bit=1,place=2", "bit=1,place=1", "Wait and Text have the same place 1"},
		"a place missing":          {"bit=1,place=2", "bit=1,place=3", "no field has the place 2"},
		"no bit":                   {` field:"bit=1,place=2,name"`, "", "Text says nothing of head, bit, running and with"},
		"a bit and the head":       {"bit=1,place=2", "bit=1,place=2,head", "or two of them"},
		"no place":                 {"bit=1,place=2", "bit=1", "Text: what has a bit has a place too"},
		"a place of a bool":        {"bit=2", "bit=2,place=3", "Cancel: what has a bit has a place too"},
		"with nobody":              {"with=Wait", "with=ID", "Count is with ID"},
		"an unknown word":          {"with=Wait", "width=Wait", `"width=Wait"`},
		"a word without its value": {"bit=2", "bit", `"bit"`},
		"a number twice":           {`cbor:"3,`, `cbor:"2,`, "Wait and Text have the same number 2"},
		"no number":                {`cbor:"3,`, `cbor:"text,`, "a number from 1 to 255"},
		"a tag of what is derived": {`cbor:"-"`, `cbor:"-" field:"head"`, "of what is not encoded"},
		"a command twice":          {"Stop{} // 2", "Move{} // 2", "Move has the number 2"},
		"a number of commands":     {"Stop{} // 2", "Stop{} // 3", "Stop has the number 3, want 2"},
		"a command without number": {"Stop{} // 2", "Stop{}", "a line of the list of commands"},
		"a command not listed":     {"\t_ Command = Stop{} // 2\n", "", "Stop has an apply and is not in the list"},
		"a word of a directive":    {"hash record", "hash recording", "//fields:hash recording"},
		"a type":                   {"Text   string", "Text   float64", "there is no struct float64"},
		"what is never left out":   {`cbor:"2,keyasint,omitempty" field:"bit=0`, `cbor:"2,keyasint" field:"bit=0`, ""},
		"a reader":                 {"fields:json submit", "fields:json request", "//fields:json request"},
		"a word of a member":       {`field:"compact"`, `field:"compcat"`, `field:"compcat"`},
		"a form of a member":       {`json:"since,omitempty"`, `json:"since,string"`, `json:"since,string"`},
		"a type of a member":       {"Number int64", "Number float64", "nothing appends a float64"},
		"no member for sure":       {`json:"number"`, `json:"number,omitempty"`, "every member may be left out"},
		"a flag never left out":    {`cbor:"5,keyasint,omitempty"`, `cbor:"5,keyasint"`, "a bool that is never left out"},
	} {
		if n := strings.Count(valid+validJSON, c.old); n != 1 {
			t.Fatalf("%s: %q is %d times in the source", what, c.old, n)
		}
		_, err := generated(t, strings.Replace(valid, c.old, c.new, 1), strings.Replace(validJSON, c.old, c.new, 1))
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", what, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
	}
}
