package contexts

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/taskrt/taskrt/trust"
)

const (
	pin   = "sha256:0000000000000000000000000000000000000000000000000000000000000001"
	other = "sha256:0000000000000000000000000000000000000000000000000000000000000002"
)

func full() *Context {
	return &Context{
		Servers: []string{"https://10.0.0.1:7070", "10.0.0.2:7070"}, CA: pin, Token: trust.DrawToken().Text(), Namespace: "team-a", Cluster: "c1",
	}
}

func stored(t *testing.T) *Store {
	t.Helper()
	s := New(filepath.Join(t.TempDir(), "a", "taskrt"))
	if err := s.Update(t.Context(), func(f *File) error { return f.Add("prod", full(), false) }); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestStore: what was added is there, for its owner only, and the first context is the current one (SPEC A3).
func TestStore(t *testing.T) {
	s := New(filepath.Join(t.TempDir(), "a", "taskrt"))
	if f, err := s.Read(); err != nil || len(f.Contexts) > 0 || f.Current != "" {
		t.Errorf("before anything is there: %+v, %v", f, err)
	}
	prod, lab := full(), &Context{Servers: []string{"localhost:7070"}}
	for _, do := range []func(*File) error{
		func(f *File) error { return f.Add("prod", prod, false) },
		func(f *File) error { return f.Add("lab", lab, false) },
		func(f *File) error { return f.Use("lab") },
	} {
		if err := s.Update(t.Context(), do); err != nil {
			t.Fatal(err)
		}
	}
	f, err := s.Read()
	if want := (&File{Current: "lab", Contexts: map[string]*Context{"prod": prod, "lab": lab}}); err != nil || !reflect.DeepEqual(f, want) {
		t.Errorf("%+v, want %+v; %v", f, want, err)
	}
	for name, want := range map[string]os.FileMode{s.dir: 0o700, s.Path(): 0o600, filepath.Join(s.dir, lockName): 0o600} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if err := s.Update(t.Context(), func(f *File) error { return f.Remove("lab") }); err != nil {
		t.Fatal(err)
	}
	if f, err := s.Read(); err != nil || f.Current != "" || len(f.Contexts) != 1 {
		t.Errorf("without the current one: %+v, %v", f, err)
	}
}

// TestFirstIsCurrent: the first context is the current one, also after all others were removed. To remove the current one makes none current.
func TestFirstIsCurrent(t *testing.T) {
	f := &File{Contexts: map[string]*Context{}}
	add := func(name string) func() error { return func() error { return f.Add(name, full(), false) } }
	remove := func(name string) func() error { return func() error { return f.Remove(name) } }
	for i, c := range []struct {
		do   func() error
		want string
	}{{add("ann"), "ann"}, {add("bob"), "ann"}, {remove("ann"), ""}, {add("cid"), ""}, {remove("bob"), ""}, {remove("cid"), ""}, {add("dan"), "dan"}} {
		if err := c.do(); err != nil || f.Current != c.want {
			t.Errorf("step %d: %q, want %q, %v", i, f.Current, c.want, err)
		}
	}
}

// TestRefused: what makes no sense is a usage error that names what is wrong, and changes nothing. It shows no token.
func TestRefused(t *testing.T) {
	s := stored(t)
	before, err := os.ReadFile(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	token := trust.DrawToken().Text()
	with := func(change func(*Context)) func(*File) error {
		c := full()
		change(c)
		return func(f *File) error { return f.Add("next", c, false) }
	}
	for want, do := range map[string]func(*File) error{
		"there is a context prod":                 func(f *File) error { return f.Add("prod", full(), false) },
		"the name of a context is 1 to 64":        func(f *File) error { return f.Add("../x", full(), false) },
		"1 to 64 of a-z A-Z":                      func(f *File) error { return f.Add(strings.Repeat("x", 65), full(), false) },
		"begins with a letter or a digit":         func(f *File) error { return f.Add("-x", full(), false) },
		`no context "dev": taskrt context list`:   func(f *File) error { return f.Use("dev") },
		`no context "lab"`:                        func(f *File) error { return f.Remove("lab") },
		"servers: must be 1 to 64 URLs":           with(func(c *Context) { c.Servers = nil }),
		"servers: a URL must have 1 to 500":       with(func(c *Context) { c.Servers[0] = strings.Repeat("x", 501) }),
		"ca: must be at most 262144 bytes":        with(func(c *Context) { c.CA = strings.Repeat("x", MaxCA+1) }),
		"ca: \"md5:00\" is neither":               with(func(c *Context) { c.CA = "md5:00" }),
		"token: ":                                 with(func(c *Context) { c.Token = token[:40] }),
		"namespace":                               with(func(c *Context) { c.Namespace = "a b" }),
		"cluster: must be at most 100":            with(func(c *Context) { c.Cluster = strings.Repeat("x", 101) }),
		"at most 200 are kept: taskrt context rm": func(f *File) error { return many(f, MaxContexts) },
		"all contexts together would have":        func(f *File) error { return large(f) },
	} {
		err := s.Update(t.Context(), do)
		usage, is := errors.AsType[*UsageError](err)
		if !is || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), token[:40]) {
			t.Errorf("%s: %v, %v", want, err, usage)
		}
		if after, err := os.ReadFile(s.Path()); err != nil || string(after) != string(before) {
			t.Fatalf("%s: the file has changed: %v", want, err)
		}
	}
	if _, err := (&File{}).Find("x"); err == nil || !strings.Contains(err.Error(), "taskrt context add") {
		t.Errorf("none at all: %v", err)
	}
}

func many(f *File, n int) (err error) {
	for i := range n {
		err = errors.Join(err, f.Add(fmt.Sprint("c", i), full(), false))
	}
	return err
}

// large adds contexts each of which may be, but not all together.
func large(f *File) (err error) {
	pins := strings.TrimSuffix(strings.Repeat(pin+",", MaxCA/(len(pin)+1)), ",")
	for i := range 5 {
		c := full()
		c.CA = pins
		err = errors.Join(err, f.Add(fmt.Sprint("c", i), c, false))
	}
	return err
}

// TestStrict: a file that says something else than what it means is refused, and left alone. The error names the file and what is wrong.
func TestStrict(t *testing.T) {
	for text, want := range map[string]string{
		``:                            "EOF",
		`{"contexts":{}} x`:           "something stands behind the end",
		`{"contexts":{}}{}`:           "something stands behind the end",
		`{"contexts":{},"default":1}`: `unknown field "default"`,
		`{"contexts":{"prod":{"servers":["x"],"certificate":"y"}}}`: `unknown field "certificate"`,
		`{"contexts":{"prod":null}}`:                                "context prod is null",
		`{"contexts":{"prod":{}}}`:                                  "context prod: servers",
		`{"contexts":{"a/b":{"servers":["x"]}}}`:                    `context "a/b": the name of a context is`,
		`{"current":"prod","contexts":{}}`:                          `current: there is no context "prod"`,
	} {
		s := stored(t)
		if err := os.WriteFile(s.Path(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := s.Read()
		if _, usage := errors.AsType[*UsageError](err); err == nil || usage || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), s.Path()) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
		if err := s.Update(t.Context(), func(*File) error { return nil }); err == nil {
			t.Errorf("%s: overwritten", text)
		}
		if now, err := os.ReadFile(s.Path()); err != nil || string(now) != text {
			t.Errorf("%s: became %s, %v", text, now, err)
		}
	}
	s := stored(t)
	if err := os.WriteFile(s.Path(), []byte(`{"current":""}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if f, err := s.Read(); err != nil || f.Contexts == nil {
		t.Errorf("no contexts: %+v, %v", f, err)
	}
}

// TestOpenToOthers: a file or a directory that others can read is refused, with the command that mends it.
func TestOpenToOthers(t *testing.T) {
	for _, c := range []struct {
		open func(*Store) (path string, mend os.FileMode)
		mode os.FileMode
	}{
		{func(s *Store) (string, os.FileMode) { return s.Path(), 0o600 }, 0o644},
		{func(s *Store) (string, os.FileMode) { return s.Path(), 0o600 }, 0o602},
		{func(s *Store) (string, os.FileMode) { return s.dir, 0o700 }, 0o755},
		{func(s *Store) (string, os.FileMode) { return s.dir, 0o700 }, 0o710},
	} {
		s := stored(t)
		path, mend := c.open(s)
		if err := os.Chmod(path, c.mode); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("chmod %o %s", mend, path)
		if _, err := s.Read(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%o: %v, want %s", c.mode, err, want)
		}
		if err := s.Update(t.Context(), func(*File) error { return nil }); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%o, update: %v", c.mode, err)
		}
	}
}

// TestManyWriters: no change is lost when several write at once.
func TestManyWriters(t *testing.T) {
	s := New(filepath.Join(t.TempDir(), "taskrt"))
	var wg sync.WaitGroup
	const n = 20
	for i := range n {
		wg.Go(func() {
			if err := s.Update(t.Context(), func(f *File) error { return f.Add(fmt.Sprint("c", i), full(), false) }); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if f, err := s.Read(); err != nil || len(f.Contexts) != n {
		t.Errorf("%d contexts, %v", len(f.Contexts), err)
	}
}

// TestLocked: whoever waits for another process can be interrupted, and has changed nothing.
func TestLocked(t *testing.T) {
	s := stored(t)
	lock, err := os.Open(filepath.Join(s.dir, lockName))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_SH); err != nil { // keeps away only who wants to be alone
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = s.Update(ctx, func(f *File) error { t.Error("changed"); return f.Remove("prod") })
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestLearner: a context keeps what its client learns of the authority, unless somebody else has given it another one.
func TestLearner(t *testing.T) {
	s := stored(t)
	read := func() *Context {
		t.Helper()
		f, err := s.Read()
		if err != nil {
			t.Fatal(err)
		}
		return f.Contexts["prod"]
	}
	was := read()
	var failed error
	learn := s.Learner("prod", was, func(err error) { failed = err })
	both := other + "," + pin
	learn(both)
	learn(both)
	if now := read(); now.CA != both || now.Token != was.Token || failed != nil {
		t.Errorf("%+v, %v", now, failed)
	}
	learn(other)
	if now := read(); now.CA != other || failed != nil {
		t.Errorf("%+v, %v", now, failed)
	}
	s.Learner("prod", was, func(err error) { failed = err })(both) // it has begun before the others
	if now := read(); now.CA != other || failed != nil {
		t.Errorf("%+v, %v", now, failed)
	}
	if err := os.Chmod(s.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		learn(pin)
	}
	if failed == nil {
		t.Error("nobody is told that it cannot be kept")
	}
}
