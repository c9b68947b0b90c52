package corpus

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/raftstore/logstore"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/wire"
)

// heading is that of a version in CHANGELOG.md.
var heading = regexp.MustCompile(`(?m)^## (\d+\.\d+\.\d+)$`)

// TestEveryReleaseIsThere: each version that was released has its corpus, with all that a corpus has (SPEC C9). A version is released when
// CHANGELOG.md has it and VERSION has gone on.
func TestEveryReleaseIsThere(t *testing.T) {
	changes, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	now, err := os.ReadFile("../../VERSION")
	if err != nil {
		t.Fatal(err)
	}
	current := strings.TrimSuffix(strings.TrimSpace(string(now)), "-dev")
	var want, got []string
	for _, m := range heading.FindAllStringSubmatch(string(changes), -1) {
		if m[1] != current {
			want = append(want, m[1])
		}
	}
	all := versions(t)
	for _, v := range all {
		got = append(got, v.Version)
		has := map[string]bool{}
		for _, d := range v.Directories {
			has[fmt.Sprint(d.Store, d.Level)] = true
			if len(d.Exports) < 3 || len(d.Cluster) < 16 || d.Index < 100 {
				t.Errorf("%s: %+v", &d, d)
			}
		}
		for _, store := range []string{"bolt", "wal"} {
			if highest := v.Level(); highest < 2 || !has[store+"1"] || !has[fmt.Sprint(store, highest)] {
				t.Errorf("%s has %v", v.Version, has)
			}
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("there are corpora of %v, and %v are released (docs/versions.md says how to make one)", got, want)
	}
}

func versions(t *testing.T) []Version {
	t.Helper()
	all, err := Versions()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestRead: a corpus with a file too few, too many, or another one is none.
func TestRead(t *testing.T) {
	good := fstest.MapFS{
		ListFile:       {Data: []byte(`{"version":"1","directories":[{"name":"d","packed":"` + Sum([]byte("x")) + `","exports":[{"namespace":"n","sha256":"` + Sum([]byte("y")) + `"}]}]}`)},
		"d.tar.gz":     {Data: []byte("x")},
		"d-n.jsonl.gz": {Data: []byte("y")},
	}
	if v, err := Read(good); err != nil || v.Directories[0].String() != "1/d" {
		t.Fatalf("%v, %v", v, err)
	}
	for want, file := range map[string]fstest.MapFS{
		"d.tar.gz is missing":             {"d.tar.gz": nil},
		"does not name more":              {"more": {}},
		"d-n.jsonl.gz has the digest 59":  {"d-n.jsonl.gz": {Data: []byte("z")}},
		"corpus.json: unexpected end of":  {ListFile: {}},
		"open corpus.json: file does not": {ListFile: nil},
	} {
		bad := fstest.MapFS{}
		for _, from := range []fstest.MapFS{good, file} {
			for name, f := range from {
				if bad[name] = f; f == nil {
					delete(bad, name)
				}
			}
		}
		if _, err := Read(bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// unpacked is a directory of a corpus on the disk, with its log open.
type unpacked struct {
	*Directory
	dir   string
	log   logstore.Store
	first uint64
}

// eachDirectory runs a test for every directory of every version.
func eachDirectory(t *testing.T, test func(t *testing.T, u *unpacked)) {
	t.Helper()
	for _, v := range versions(t) {
		for _, d := range v.Directories {
			t.Run(d.String(), func(t *testing.T) {
				t.Parallel()
				u := &unpacked{Directory: &d, dir: t.TempDir()}
				if err := d.Unpack(u.dir); err != nil {
					t.Fatal(err)
				}
				log, err := logstore.Open(filepath.Join(u.dir, RaftDir), logstore.Kind(d.Store), logstore.Options{})
				if err != nil {
					t.Fatal(err)
				}
				defer log.Close()
				u.log = log
				if u.first, err = log.FirstIndex(); err != nil || u.first != 1 {
					t.Fatalf("the log begins with entry %d, %v", u.first, err)
				}
				test(t, u)
			})
		}
	}
}

// replay applies the entries behind after, and returns the digest after each. at is called before the machine goes on.
func (u *unpacked) replay(t *testing.T, m *task.Machine, after uint64, at func(index uint64, e *raft.Log, ps []task.Proposal, h task.Header)) {
	t.Helper()
	last, err := u.log.LastIndex()
	if err != nil {
		t.Fatal(err)
	}
	for i := after + 1; i <= last; i++ {
		var e raft.Log
		if err := u.log.GetLog(i, &e); err != nil {
			t.Fatalf("entry %d: %v", i, err)
		}
		if e.Type != raft.LogCommand {
			continue
		}
		h, ps, err := wire.DecodeEntry(e.Data)
		if err != nil {
			t.Fatalf("entry %d: %v", i, err)
		}
		h.Index, h.Term = e.Index, e.Term
		m.Apply(h, ps)
		at(i, &e, ps, h)
	}
	if err := m.Check(); err != nil {
		t.Error(err)
	}
	if d := m.Digest(); d.Index != u.Index || fmt.Sprintf("%016x", d.Sum) != u.Digest {
		t.Errorf("after the replay the digest is %d:%016x; the version that wrote the log had %d:%s", d.Index, d.Sum, u.Index, u.Digest)
	}
	if m.Level() != u.Level {
		t.Errorf("the level is %d", m.Level())
	}
}

// TestLogsAreReplayed: this build makes of every log the state that its version made, at every entry that the snapshot or the version's own word
// knows. It writes the same entries again, byte for byte (SPEC C4, C9).
func TestLogsAreReplayed(t *testing.T) {
	eachDirectory(t, func(t *testing.T, u *unpacked) {
		snap := u.snapshot(t)
		met := false
		m := task.NewMachine()
		u.replay(t, m, 0, func(index uint64, e *raft.Log, ps []task.Proposal, h task.Header) {
			again, err := wire.EncodeEntry(h, ps)
			if err != nil || !bytes.Equal(again, e.Data) {
				t.Errorf("entry %d is encoded as %x, %v; the version wrote %x", index, again, err, e.Data)
			}
			if d := m.Digest(); index == snap.digest.Index {
				met = true
				if d != snap.digest {
					t.Errorf("after entry %d the digest is %016x; in the snapshot of the version it is %016x", index, d.Sum, snap.digest.Sum)
				}
				if text := written(t, m); !bytes.Equal(text, snap.text) {
					t.Errorf("the snapshot of entry %d has %d bytes and the version's %d, or they differ", index, len(text), len(snap.text))
				}
			}
		})
		if !met {
			t.Errorf("the log has no entry %d, up to which the snapshot goes", snap.digest.Index)
		}
	})
}

// TestSnapshotsAreRestored: this build restores every snapshot, writes it again byte for byte, and goes on from it through the rest of the log to
// the same state (SPEC C9).
func TestSnapshotsAreRestored(t *testing.T) {
	eachDirectory(t, func(t *testing.T, u *unpacked) {
		snap := u.snapshot(t)
		if text := written(t, snap.machine); !bytes.Equal(text, snap.text) {
			t.Errorf("written again it has %d bytes, and had %d, or they differ", len(text), len(snap.text))
		}
		behind := 0
		u.replay(t, snap.machine, snap.applied, func(uint64, *raft.Log, []task.Proposal, task.Header) { behind++ })
		if behind < 10 {
			t.Errorf("only %d entries lie behind the snapshot", behind)
		}
	})
}

// snapshot is what a version wrote when it stopped.
type snapshot struct {
	applied uint64
	text    []byte // behind the head
	machine *task.Machine
	digest  task.Digest
}

// snapshot reads the newest snapshot of the directory. Its head is "taskrt", a zero, the format, and the index that was applied.
func (u *unpacked) snapshot(t *testing.T) snapshot {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(u.dir, RaftDir, "snapshots", "*", "state.bin"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%d snapshots, %v", len(found), err)
	}
	text, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	const head = "taskrt\x00\x02"
	if !bytes.HasPrefix(text, []byte(head)) || len(text) < 16 {
		t.Fatalf("the snapshot begins with %x", text[:min(len(text), 16)])
	}
	s := snapshot{applied: binary.BigEndian.Uint64(text[8:16]), text: text[16:]}
	if s.machine, err = wire.ReadSnapshot(bytes.NewReader(s.text)); err != nil {
		t.Fatal(err)
	}
	if err := s.machine.Check(); err != nil {
		t.Error(err)
	}
	s.digest = s.machine.Digest()
	return s
}

// written is the snapshot that this build writes of a machine.
func written(t *testing.T, m *task.Machine) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := wire.WriteSnapshot(&out, m.Freeze()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// numbered are the commands in task/command.go with their numbers.
var numbered = regexp.MustCompile(`(?m)^\t_ Command = (\w+)\{\} +// (\d+)$`)

// TestEveryCommandIsThere: the logs of a version have each command that the version knows.
func TestEveryCommandIsThere(t *testing.T) {
	source, err := os.ReadFile("../../task/command.go")
	if err != nil {
		t.Fatal(err)
	}
	commands := numbered.FindAllStringSubmatch(string(source), -1)
	if len(commands) < 47 {
		t.Fatalf("only %d commands found: the search is broken", len(commands))
	}
	for _, v := range versions(t) {
		met := map[string]bool{}
		for _, d := range v.Directories {
			for _, name := range namesOf(t, &d) {
				met[name] = true
			}
		}
		for _, c := range commands {
			if n, _ := strconv.Atoi(c[2]); n <= v.Commands && !met["task."+c[1]] {
				t.Errorf("%s: no log has %s", v.Version, c[1])
			}
		}
		if v.Commands < 46 {
			t.Errorf("%s knows %d commands", v.Version, v.Commands)
		}
	}
}

// namesOf lists the types of the commands in the log of a directory.
func namesOf(t *testing.T, d *Directory) (names []string) {
	t.Helper()
	dir := t.TempDir()
	if err := d.Unpack(dir); err != nil {
		t.Fatal(err)
	}
	log, err := logstore.Open(filepath.Join(dir, RaftDir), logstore.Kind(d.Store), logstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for i := uint64(1); i <= d.Index; i++ {
		var e raft.Log
		if err := log.GetLog(i, &e); err != nil {
			t.Fatal(err)
		}
		if e.Type != raft.LogCommand {
			continue
		}
		_, ps, err := wire.DecodeEntry(e.Data)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range ps {
			names = append(names, fmt.Sprintf("%T", p.Command))
		}
	}
	return names
}

// TestPack: what is packed comes back as it was; equal directories give equal bytes.
func TestPack(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	large := bytes.Repeat([]byte{0}, 300_000)
	large[70_000] = 1
	for name, text := range map[string][]byte{"a/b/small": []byte("x"), "a/large": large, "left/out": nil, "zeros": large[:65_000]} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(from, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(from, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	skip := func(name string) bool { return name == "left" }
	packed, err := Pack(from, skip)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Pack(from, skip); err != nil || !bytes.Equal(again, packed) {
		t.Errorf("packed again it differs, %v", err)
	}
	d := &Directory{Name: "d", contents: fstest.MapFS{"d.tar.gz": {Data: packed}}}
	if err := d.Unpack(to); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]byte{"a/b/small": []byte("x"), "a/large": large, "zeros": large[:65_000]} {
		f, err := os.Open(filepath.Join(to, name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(f)
		f.Close()
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s has %d bytes, %v", name, len(got), err)
		}
	}
	if _, err := os.Stat(filepath.Join(to, "left")); err == nil {
		t.Error("what was left out is there")
	}
	if err := d.Unpack(to); err == nil {
		t.Error("it is unpacked over what is there")
	}
}
