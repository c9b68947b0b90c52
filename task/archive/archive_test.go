package archive

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/task"
)

var rewrite = flag.Bool("rewrite", false, "write the golden file anew")

// full sets every stored field to something. Numbers count up, so that no two are equal.
func full(v reflect.Value, n *int64) {
	*n++
	t := v.Type()
	switch {
	case t == payloadType:
		v.Set(reflect.ValueOf(payloads()[int(*n)%len(payloads())]))
		return
	case t == timeType:
		v.SetInt(1_700_000_000_000 + *n)
		return
	case wordsOf(t) != nil:
		v.SetUint(uint64(len(wordsOf(t)) - 1))
		return
	}
	switch t.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		full(v.Elem(), n)
	case reflect.Struct:
		for _, f := range fieldsOf(t) {
			full(v.Field(f.index), n)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(t, 2, 2))
		for i := range 2 {
			full(v.Index(i), n)
		}
	case reflect.String:
		v.SetString(fmt.Sprintf("ü<%d>", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int8, reflect.Int32, reflect.Int64:
		v.SetInt(*n % 100)
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(*n % 100))
	default:
		panic(fmt.Sprintf("a record has a field of type %v", t))
	}
}

// payloads returns payloads of every form.
func payloads() []task.Payload {
	digest := strings.Repeat("ab", 32)
	return []task.Payload{
		{Encoding: task.JSON, Data: []byte(`{"a":[1,"<ü>"]}`)},
		{Encoding: task.JSON, Data: []byte(`{ "not": "compact" }`)},
		{Encoding: task.Bytes, Data: []byte{0, 255}},
		{Encoding: task.JSON, Blobs: &task.Blobs{Content: digest, Size: 70_000}},
		{Encoding: task.Bytes, Blobs: &task.Blobs{Content: digest, Size: 1 << 24}},
		{Encoding: task.JSON, Data: []byte(`[{"$blob":"sha256:` + digest + `"}]`), Blobs: &task.Blobs{Named: []string{digest}}},
	}
}

func records() map[string]any {
	return map[string]any{
		lineHeader: new(Header), lineModule: new(task.Module), lineBehavior: new(task.Behavior), lineOperation: new(task.Operation),
		lineInstance: new(task.Instance), lineTask: new(task.Task), lineRecord: new(task.StoreRecord), lineEnd: new(Counts),
	}
}

// These files hold the form of records. goldenTask has the form of a Task, beside its other forms, and goldenFields has
// the forms of all other records.
var (
	goldenFields = filepath.Join("testdata", "fields.jsonl")
	goldenTask   = filepath.Join("..", "testdata", "task.golden")
)

// The line of a Task begins with taskLine. It is the last line of goldenTask, and it comes before the line that begins
// with recordLine.
const (
	taskLine   = `{"task":`
	recordLine = `{"record":`
)

func readFile(t testing.TB, name string) []byte {
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// golden returns the lines of both files, in the order of an export.
func golden(t testing.TB) []byte {
	_, line, ok := bytes.Cut(readFile(t, goldenTask), []byte(taskLine))
	before, after, has := bytes.Cut(readFile(t, goldenFields), []byte(recordLine))
	if !ok || !has {
		t.Fatalf("%s has no line of a task, or %s none of a record", goldenTask, goldenFields)
	}
	return slices.Concat(before, []byte(taskLine), line, []byte(recordLine), after)
}

// writeGolden writes the files that golden reads.
func writeGolden(t testing.TB, lines []byte) {
	before, rest, _ := bytes.Cut(lines, []byte(taskLine))
	line, after, _ := bytes.Cut(rest, []byte(recordLine))
	forms, _, _ := bytes.Cut(readFile(t, goldenTask), []byte(taskLine))
	if len(forms) == 0 {
		t.Fatalf("%s is being written by package task: go test -p 1", goldenTask)
	}
	for name, text := range map[string][]byte{
		goldenFields: slices.Concat(before, []byte(recordLine), after),
		goldenTask:   slices.Concat(forms, []byte(taskLine), line),
	} {
		if err := os.WriteFile(name, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestEveryFieldTravels: every stored field is written and read back unchanged. The golden files keep the names of the
// fields. So a change of a name in package task shows that former exports can no longer be read.
func TestEveryFieldTravels(t *testing.T) {
	t.Parallel()
	var lines bytes.Buffer
	for _, name := range []string{lineHeader, lineModule, lineBehavior, lineOperation, lineInstance, lineTask, lineRecord, lineEnd} {
		n, want := int64(0), records()[name]
		full(reflect.ValueOf(want).Elem(), &n)
		line := (&encoder{}).line(name, want)
		lines.Write(line)
		var members map[string]json.RawMessage
		if err := json.Unmarshal(line, &members); err != nil {
			t.Fatalf("%s: %v in %s", name, err, line)
		}
		got := records()[name]
		if bad := (&forms{}).decode(members[name], reflect.ValueOf(got).Elem(), name); bad != nil {
			t.Fatalf("%s: %v", name, bad)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s came back as\n%+v, not\n%+v", name, got, want)
		}
	}
	if *rewrite {
		writeGolden(t, lines.Bytes())
	}
	if !bytes.Equal(lines.Bytes(), golden(t)) {
		t.Errorf("the form has changed: raise Format, or see that old files can be read, and run with -rewrite\n%s", lines.Bytes())
	}
}

// FuzzImport: an import of any text ends. It ends with an error that names a line, or with its counts.
func FuzzImport(f *testing.F) {
	header := `{"header":{"format":1,"namespace":{"name":"x","status":"ACTIVE"}}}` + "\n"
	golden := golden(f)
	f.Add([]byte(header + `{"end":{}}`))
	f.Add([]byte(header + `{"blob":"sha256:` + strings.Repeat("00", 32) + `"}` + "\n" + `{"bytes":{"data":"AAAA","last":true}}` + "\n" + `{"end":{"blobs":1}}`))
	f.Add(append([]byte(header), golden...))
	for line := range bytes.Lines(golden) {
		f.Add(append([]byte(header), line...))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		taken, err := Import(context.Background(), bytes.NewReader(text), "fuzz", &counting{})
		var bad *Error
		switch {
		case err == nil && taken == nil:
			t.Error("neither an answer nor an error")
		case err != nil && (!errors.As(err, &bad) || bad.Line < 1 || bad.Line > int64(bytes.Count(text, []byte("\n")))+2):
			t.Errorf("the error names no line: %v", err)
		}
	})
}

// counting is a sink that takes everything.
type counting struct{ blobs int64 }

func (c *counting) Create(context.Context, *task.Namespace) error { return nil }

func (c *counting) Task(context.Context, *task.Task) error { return nil }

func (c *counting) Put(_ context.Context, _ string, bytes io.Reader) (bool, error) {
	n, err := io.Copy(io.Discard, bytes)
	c.blobs += n
	return true, err
}

func (c *counting) Take(_ context.Context, r task.ImportRecords) (int64, error) {
	return int64(len(r.Modules) + len(r.Behaviors) + len(r.Operations) + len(r.Tasks) + len(r.Records)), nil
}

// TestBatches: an import of many records makes commands of one kind each, and each fits into an entry of the log.
func TestBatches(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString(`{"header":{"format":1,"namespace":{"name":"x","status":"ACTIVE"}}}` + "\n")
	const tasks, found = 3 * batchRecords / 2, 10
	for i := range tasks {
		fmt.Fprintf(&text, `{"task":{"id":"t-%d","behavior":"ext"}}`+"\n", i)
	}
	for range found {
		fmt.Fprintf(&text, `{"record":{"group":"g","data":"%s"}}`+"\n", strings.Repeat("x", batchBytes/3))
	}
	fmt.Fprintf(&text, `{"end":{"tasks":%d,"records":%d}}`+"\n", tasks, found)
	var batches []string
	sink := &watching{take: func(c task.ImportRecords) (int64, error) {
		batches = append(batches, fmt.Sprintf("%d+%d", len(c.Tasks), len(c.Records)))
		if len(c.Tasks)+len(c.Records) > batchRecords {
			t.Errorf("a batch of %d", len(c.Tasks)+len(c.Records))
		}
		return int64(len(c.Tasks)), nil // the records are there already
	}}
	taken, err := Import(t.Context(), strings.NewReader(text.String()), "x", sink)
	if err != nil || taken.Tasks != tasks || taken.Records != 0 || taken.Skipped != found {
		t.Errorf("%+v, %v", taken, err)
	}
	if got, want := strings.Join(batches, " "), "500+0 250+0 0+2 0+2 0+2 0+2 0+2"; got != want {
		t.Errorf("batches %s, want %s", got, want)
	}
	refusal := errors.New("no")
	sink.take = func(task.ImportRecords) (int64, error) { return 0, refusal }
	_, err = Import(t.Context(), strings.NewReader(text.String()), "x", sink)
	if at, ok := errors.AsType[*LinesError](err); !ok || at.Lines() != "lines 2 to 501" || !errors.Is(err, refusal) {
		t.Errorf("refused: %v", err)
	}
}

// watching is a sink whose Take the test gives.
type watching struct {
	counting
	take func(task.ImportRecords) (int64, error)
}

func (w *watching) Take(_ context.Context, c task.ImportRecords) (int64, error) { return w.take(c) }

// TestWhatATextRefersTo: an edited export may not say which blobs a payload names. They count all the same, because a
// blob that nobody seems to need would be deleted.
func TestWhatATextRefersTo(t *testing.T) {
	t.Parallel()
	d, e := strings.Repeat("0d", 32), strings.Repeat("0e", 32)
	text := `{"header":{"format":1,"namespace":{"name":"x","status":"ACTIVE"}}}` + "\n" +
		`{"task":{"id":"one","behavior":"ext","params":{"json":{"a":{"$blob":"sha256:` + d + `"}},"names":["sha256:` + e + `"]}}}` + "\n" +
		`{"end":{"tasks":1}}`
	var named []string
	sink := &watching{take: func(c task.ImportRecords) (int64, error) {
		named = slices.Collect(c.Tasks[0].Params.Digests())
		return 1, nil
	}}
	if _, err := Import(t.Context(), strings.NewReader(text), "x", sink); err != nil || !slices.Equal(named, []string{d, e}) {
		t.Errorf("%v, %v", named, err)
	}
}

// TestManyModules: an import remembers a limited number of modules.
func TestManyModules(t *testing.T) {
	t.Parallel()
	module := `{"module":{"digest":"d","version":"v","manifest":"` + strings.Repeat("AAAA", maxModules/16-100) + `"}}` + "\n"
	text := []io.Reader{strings.NewReader(`{"header":{"format":1,"namespace":{"name":"x","status":"ACTIVE"}}}` + "\n")}
	for range 5 {
		text = append(text, strings.NewReader(module))
	}
	_, err := Import(t.Context(), io.MultiReader(text...), "x", &watching{})
	if bad, ok := errors.AsType[*Error](err); !ok || bad.Line != 6 || !strings.Contains(bad.Reason, "the modules take more than") {
		t.Errorf("%v", err)
	}
}
