package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/task"
)

// log is a machine that gets one command at a time.
type log struct {
	t testing.TB
	m *task.Machine
	h task.Header
}

func newLog(t testing.TB) *log {
	l := &log{t: t, m: task.NewMachine(), h: task.Header{Term: 1, Now: 1_000_000}}
	for level := task.FirstLevel; level < task.KnownLevel; level++ {
		l.apply(task.RaiseLevel{Level: level + 1})
	}
	return l
}

func (l *log) apply(c task.Command) task.Result {
	l.t.Helper()
	l.h.Index++
	results, _ := l.m.Apply(l.h, []task.Proposal{{Command: c}})
	if results[0].Code != task.OK {
		l.t.Fatalf("%T: %s %s", c, results[0].Code, results[0].Message)
	}
	return results[0]
}

func (l *log) assign(k task.Key) uint64 {
	l.t.Helper()
	return l.apply(task.Assign{Key: k, Rev: l.m.Task(k).Rev, Session: 1}).Task.Lease.Token
}

// store is a set of blobs by digest.
type store map[string][]byte

func (s store) add(data []byte) string {
	d := fmt.Sprintf("%x", sha256.Sum256(data))
	s[d] = data
	return d
}

func (s store) open(digest string) (io.ReadCloser, error) {
	data, ok := s[digest]
	if !ok {
		return nil, errors.New("no such file")
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

// note tells the log of a blob.
func (l *log) note(digest string, size int64) {
	l.apply(task.NoteBlob{Digest: digest, Size: size})
	l.apply(task.NoteBlob{Digest: digest, Size: size, Ready: true})
}

// shop returns a log with one of everything in the namespace shop, and with something in another namespace.
func shop(t testing.TB) (*log, store) {
	l, blobs := newLog(t), store{}
	large, module := blobs.add(bytes.Repeat([]byte("large "), 30_000)), blobs.add([]byte("\x00asm")) // three pieces
	l.note(large, int64(len(blobs[large])))
	l.note(module, 4)
	l.apply(task.OpenSession{Worker: "w", Slots: 99, TTL: 1 << 40, Proof: []byte("p")})
	for _, ns := range []string{"shop", "other"} {
		l.apply(task.PutNamespace{Name: ns, Create: true, Quota: &task.Quota{MaxTasks: 1000}, Retention: &task.Retention{Failure: -1}})
		policy := task.DefaultPolicy()
		policy.Operation = &task.OperationPolicy{Concurrency: task.OnePerTarget, Complete: "done", RunAll: true}
		l.apply(task.Activate{
			Namespace: ns, Module: task.Module{Digest: module, Size: 4, Version: "v", Manifest: []byte("{}")}, Noted: true,
			Behaviors: []task.Activated{{Name: "work", Policy: policy}, {Name: "done", Policy: task.DefaultPolicy()}},
		})
		submit := func(id string, params task.Payload) task.Key {
			l.apply(task.Submit{Namespace: ns, ID: id, Behavior: "work", Params: params, Priority: 4, Labels: []task.Label{{Name: "a", Value: "b"}}})
			return task.Key{Namespace: ns, ID: id}
		}
		submit("waits", task.Payload{Encoding: task.JSON, Data: []byte(` {"a" : 1}`)})
		k := submit("runs", task.Payload{Encoding: task.JSON, Blobs: &task.Blobs{Content: large, Size: int64(len(blobs[large]))}})
		l.apply(task.Beat{Key: k, Token: l.assign(k), Seq: 1, Checkpoint: &task.Payload{Encoding: task.Bytes, Data: []byte{1}}})
		k = submit("fails", task.Payload{})
		l.apply(task.Finish{Key: k, Token: l.assign(k), Error: &task.Error{Code: "X", Message: "<&>"}, Pages: 2})
		l.apply(task.StartOperation{Namespace: ns, ID: "job", Behavior: "work", Target: "t", Partitions: 2, Names: []string{"a", "b"}, Priority: 4})
		k = task.Key{Namespace: ns, ID: "job:0"}
		l.apply(task.Finish{Key: k, Token: l.assign(k), Result: task.Payload{Encoding: task.JSON, Data: []byte("1")}})
		l.apply(task.StoreUpdate{Namespace: ns, Client: 1, Adds: []task.StoreAdd{{Group: "g", Data: "\x00", Available: 1 << 60}}})
	}
	return l, blobs
}

// sink takes up an export into another log.
type sink struct {
	*log
	blobs store
}

func (s *sink) Create(_ context.Context, exported *task.Namespace) error {
	if s.m.Namespace("copy") == nil {
		s.apply(task.PutNamespace{Name: "copy", Create: true, Quota: &exported.Quota, Retention: &exported.Retention})
	}
	return nil
}

func (s *sink) Put(_ context.Context, digest string, r io.Reader) (bool, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return false, err
	}
	if s.blobs[digest] != nil {
		return false, nil
	}
	if got := s.blobs.add(data); got != digest {
		return false, fmt.Errorf("the bytes of %s have the digest %s", digest, got)
	}
	s.note(digest, int64(len(data)))
	return true, nil
}

func (s *sink) Take(_ context.Context, c task.ImportRecords) (int64, error) {
	s.h.Index++
	results, _ := s.m.Apply(s.h, []task.Proposal{{Command: c}})
	if results[0].Code != task.OK {
		return 0, &RefusedError{errors.New(string(results[0].Code) + ": " + results[0].Message)}
	}
	return results[0].Count, nil
}

func (s *sink) Task(context.Context, *task.Task) error { return nil }

func export(t testing.TB, l *log, blobs store, raw bool) string {
	var b bytes.Buffer
	if err := (&Source{State: l.m.Freeze(), Blob: blobs.open}).Write(&b, "shop", raw); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func newSink(t testing.TB) *sink { return &sink{newLog(t), store{}} }

func TestRoundTrip(t *testing.T) {
	l, blobs := shop(t)
	text := export(t, l, blobs, false)
	s := newSink(t)
	taken, err := Import(t.Context(), strings.NewReader(text), "copy", s)
	if err != nil {
		t.Fatal(err)
	}
	if want := (Taken{Counts: Counts{Modules: 1, Behaviors: 2, Operations: 1, Blobs: 2, Tasks: 5, Records: 1}}); !reflect.DeepEqual(*taken, want) {
		t.Errorf("taken %+v, want %+v", *taken, want)
	}
	if err := s.m.Check(); err != nil {
		t.Fatal(err)
	}
	was, is := l.m.Namespace("shop"), s.m.Namespace("copy")
	if was.Quota != is.Quota || was.Retention != is.Retention || was.Usage.Tasks != is.Usage.Tasks || is.Usage.Running != 0 {
		t.Errorf("%+v became %+v", was, is)
	}
	tasks, _ := l.m.Tasks(task.Filter{Namespace: "shop", Limit: 99})
	for _, a := range tasks {
		b := s.m.Task(task.Key{Namespace: "copy", ID: a.ID})
		if b == nil || !b.Params.Equal(a.Params) || !b.Result.Equal(a.Result) || !b.Checkpoint.Equal(a.Checkpoint) || b.Attempt != a.Attempt ||
			!reflect.DeepEqual(a.Labels, b.Labels) || !reflect.DeepEqual(a.Error, b.Error) || a.CreatedAt != b.CreatedAt || a.Final() != b.Final() {
			t.Errorf("%+v became %+v", a, b)
		}
	}
	job := s.m.Operation(task.Key{Namespace: "copy", ID: "job"})
	if job == nil || job.Counts != (task.OperationCounts{Waiting: 1, Success: 1}) || job.Names[1] != "b" {
		t.Errorf("%+v", job)
	}
	// The second import finds everything, except records of the TaskStore API: their names are new each time.
	taken, err = Import(t.Context(), strings.NewReader(text), "copy", s)
	if want := (Taken{Counts: Counts{Records: 1}, Skipped: 11}); err != nil || !reflect.DeepEqual(*taken, want) {
		t.Errorf("again: %+v %v", taken, err)
	}
}

// TestDamagedExports: an error is reported with its line, and nothing panics.
func TestDamagedExports(t *testing.T) {
	l, blobs := shop(t)
	text := export(t, l, blobs, false)
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	read := func(lines ...string) error {
		taken, err := Import(t.Context(), strings.NewReader(strings.Join(lines, "")), "copy", newSink(t))
		if err == nil && taken.Refused > 0 { // only one line is wrong
			return taken.Refusals[0].Err
		}
		return err
	}
	var wrong *Error
	for i := range lines {
		if err := read(lines[:i]...); !errors.As(err, &wrong) {
			t.Errorf("the first %d lines: %v", i, err)
		}
		without := append(append([]string{}, lines[:i]...), lines[i+1:]...)
		if err := read(without...); err == nil {
			t.Errorf("without line %d: no error", i+1)
		}
		twice := append(append(append([]string{}, lines[:i+1]...), lines[i]), lines[i+1:]...)
		if err := read(twice...); err == nil {
			t.Errorf("line %d twice: no error", i+1)
		}
		for at := 0; at < len(lines[i]); at += 1 + len(lines[i])/8 {
			damaged := []byte(lines[i])
			damaged[at] ^= 4
			_ = read(append(append(append([]string{}, lines[:i]...), string(damaged)), lines[i+1:]...)...) // it must not panic
		}
	}
	header, end := lines[0], lines[len(lines)-1]
	for name, c := range map[string]struct{ text, want string }{
		"newer":         {strings.Replace(header, `"format":2`, `"format":3`, 1) + end, "line 1: format 3"},
		"raw":           {export(t, l, blobs, true), "line 1: a raw export"},
		"no namespace":  {`{"header":{"format":1}}` + "\n", "header.namespace is missing"},
		"failed":        {header + `{"error":{"reason":"disk"}}` + "\n", "line 2: the export failed here: disk"},
		"more":          {text + header, "something follows the end"},
		"counts":        {header + end, "the end counts"},
		"digest":        {header + `{"blob":"md5:1"}` + "\n", "line 2: blob: must be sha256:"},
		"within a blob": {header + `{"blob":"sha256:` + strings.Repeat("0", 64) + `"}` + "\n" + end, "the bytes of the blob go on"},
		"a long line":   {header + `{"task":{"id":"` + strings.Repeat("x", MaxLine) + `"}}` + "\n", "line 2: longer than"},
	} {
		if err := read(c.text); !errors.As(err, &wrong) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWrongLines: a line that is wrong by itself is refused and reported. The other lines are taken up, even those of
// its page.
func TestWrongLines(t *testing.T) {
	t.Parallel()
	const header = `{"header":{"format":2,"namespace":{"name":"shop","status":"ACTIVE"}}}`
	good := func(id string) string {
		return fmt.Sprintf(`{"task":{"id":%q,"behavior":"work","status":"CREATED","not_before":"2100-01-01T00:00:00.000Z","created_at":"2020-01-01T00:00:00.000Z","priority":4}}`, id)
	}
	of := func(role string) string {
		return strings.Replace(good("job:0"), `"priority"`, `"parent":"job","partition":"a","role":"`+role+`","priority"`, 1)
	}
	gone := `{"blob":"sha256:` + strings.Repeat("0", 64) + `","size":7,"encoding":"json"}`
	for _, c := range []struct {
		line, end, want string
		refused         int64
	}{
		{`{"task":{"id":"a","nonsense":1}}`, `"tasks":10`, "task.nonsense: there is no such field", 1},
		{`{"tusk":{}}`, `"tasks":9`, `there are no lines called "tusk"`, 1},
		{`{"tusk":{}}`, `"tasks":10`, `there are no lines called "tusk"`, 1}, // its author knows what it means
		{`{"task":{},"end":{}}`, `"tasks":10`, "must be an object with one member", 1},
		{`{"task":{"id":"a`, `"tasks":10`, "not a JSON object", 1},
		{`{"task":{"status":"ASLEEP"}}`, `"tasks":10`, `task.status: "ASLEEP" is not one of`, 1},
		{`{"task":{"id":7}}`, `"tasks":10`, "task.id: ", 1},
		{`{"task":null}`, `"tasks":10`, "task", 1},
		{`{"task":{"id":"abc","labels":[{"name":"\ud800"}]}}`, `"tasks":10`, "task.labels[0].name: has a lone surrogate", 1},
		{good("x"), `"tasks":10`, "a task has an ID", 1},
		{strings.Replace(good("needs"), `"priority"`, `"params":`+gone+`,"priority"`, 1), `"tasks":10`, "blob_gone", 1},
		{`{"record":{"id":1,"data":"x"}}`, `"tasks":9,"records":1`, "a record has a group", 1},
		{`{"operation":{"id":"job","behavior":"work","status":"RUNNING","partitions":0}}` + "\n" + of("partition"), `"tasks":10,"operations":1`, "the operation in line 6, which was refused", 2},
	} {
		var lines []string
		for i := range 9 {
			lines = append(lines, good(fmt.Sprint("good", i)))
		}
		text := strings.Join(append(append(append([]string{header}, lines[:4]...), c.line), append(lines[4:], `{"end":{`+c.end+`}}`)...), "\n")
		s := newSink(t)
		s.apply(task.PutNamespace{Name: "copy", Create: true})
		taken, err := Import(t.Context(), strings.NewReader(text), "copy", s)
		if err != nil {
			t.Errorf("%s: %v", c.line, err)
			continue
		}
		last := taken.Refusals[len(taken.Refusals)-1]
		if taken.Tasks != 9 || taken.Refused != c.refused || int64(len(taken.Refusals)) != c.refused || last.Line != 5+c.refused || !strings.Contains(last.Err.Error(), c.want) {
			t.Errorf("%s: %+v", c.line, taken)
		}
	}
	// An import gives up when too many lines are wrong.
	text := header + "\n" + strings.Repeat("{}\n", maxRefused+1) + `{"end":{}}`
	if _, err := Import(t.Context(), strings.NewReader(text), "copy", newSink(t)); err == nil || !strings.Contains(err.Error(), "more than 10000 lines were refused") {
		t.Errorf("nothing but wrong lines: %v", err)
	}
}

// TestUnreadableBlob: the file says why it ends.
func TestUnreadableBlob(t *testing.T) {
	l, blobs := shop(t)
	clear(blobs)
	var b bytes.Buffer
	err := (&Source{State: l.m.Freeze(), Blob: blobs.open}).Write(&b, "shop", false)
	if err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("%v", err)
	}
	_, err = Import(t.Context(), &b, "copy", newSink(t))
	if err == nil || !strings.Contains(err.Error(), "the export failed here") || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("%v", err)
	}
}

// TestRaw: a raw export also has what is being removed and the numbers of instances. It has no bytes of blobs.
func TestRaw(t *testing.T) {
	l, blobs := shop(t)
	l.apply(task.DeleteBehavior{Namespace: "shop", Name: "work", Purge: true})
	live, raw := export(t, l, blobs, false), export(t, l, blobs, true)
	for _, line := range []string{`{"namespace":{"name"`, `{"instance":`, `{"task":{"namespace":"shop","id":"waits"`, `"purge":true`} {
		if !strings.Contains(raw, line) || strings.Contains(live, line) {
			t.Errorf("%s: raw %t, live %t", line, strings.Contains(raw, line), strings.Contains(live, line))
		}
	}
	if strings.Contains(raw, `{"bytes":{`) {
		t.Error("a raw export has bytes")
	}
	if err := (&Source{State: l.m.Freeze(), Blob: blobs.open}).Write(io.Discard, "nowhere", true); !errors.Is(err, ErrNoNamespace) {
		t.Errorf("an unknown namespace: %v", err)
	}
}
