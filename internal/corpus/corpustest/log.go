package corpustest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/internal/corpus"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/wire"
)

// checkLog: this build makes of the log the state that its version made, at every entry that the snapshot, a backup or the version's own word knows.
// It writes the same entries again, byte for byte (SPEC C4, C9).
func (u *unpacked) checkLog(t *testing.T, snap snapshot, met *commands) {
	t.Helper()
	m, after, missing := task.NewMachine(), uint64(0), map[uint64]string{snap.digest.Index: "the snapshot"}
	if u.Recovered {
		m, after, missing = snap.machine, snap.applied, map[uint64]string{}
	}
	saved := u.backups(t)
	for index := range saved {
		missing[index] = "a backup"
	}
	u.replay(t, m, after, func(e *raft.Log, h task.Header, ps []task.Proposal) {
		for _, p := range ps {
			met.add(p.Command)
		}
		again, err := wire.EncodeEntry(h, ps)
		if err != nil || !bytes.Equal(again, e.Data) {
			t.Errorf("entry %d is encoded as %x, %v; the version wrote %x", h.Index, again, err, e.Data)
		}
		if h.Index == snap.digest.Index {
			u.same(t, m, snap.digest, snap.text, "snapshot")
		}
		if b, ok := saved[h.Index]; ok {
			u.same(t, m, b.digest, b.text, b.Place)
		}
		delete(missing, h.Index)
	})
	for index, what := range missing {
		t.Errorf("the log has no entry %d, up to which %s goes", index, what)
	}
}

// same compares a machine with what the version wrote of it.
func (*unpacked) same(t *testing.T, m *task.Machine, digest task.Digest, text []byte, what string) {
	t.Helper()
	if d := m.Digest(); d != digest {
		t.Errorf("after entry %d the digest is %016x; in the %s of the version it is %016x", d.Index, d.Sum, what, digest.Sum)
	}
	if got := written(t, m); !bytes.Equal(got, text) {
		t.Errorf("as a snapshot the state has %d bytes, and in the %s of the version %d, or they differ", len(got), what, len(text))
	}
}

// replay applies the entries behind after. at is called behind each.
func (u *unpacked) replay(t *testing.T, m *task.Machine, after uint64, at func(e *raft.Log, h task.Header, ps []task.Proposal)) {
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
		at(&e, h, ps)
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

// checkSnapshot: this build restores the snapshot, writes it again byte for byte, and goes on from it through the rest of the log to the same state
// (SPEC C9).
func (u *unpacked) checkSnapshot(t *testing.T, snap snapshot) {
	t.Helper()
	if text := written(t, snap.machine); !bytes.Equal(text, snap.text) {
		t.Errorf("written again the snapshot has %d bytes, and had %d, or they differ", len(text), len(snap.text))
	}
	behind := 0
	u.replay(t, snap.machine, snap.applied, func(*raft.Log, task.Header, []task.Proposal) { behind++ })
	if behind < 10 {
		t.Errorf("only %d entries lie behind the snapshot", behind)
	}
}

// snapshot is a state that a version wrote.
type snapshot struct {
	applied uint64
	text    []byte // behind the head
	machine *task.Machine
	digest  task.Digest
}

// head begins the file of a snapshot. Behind it stands the index that was applied.
const head = "taskrt\x00\x02"

// snapshot reads the newest snapshot of the directory.
func (u *unpacked) snapshot(t *testing.T) (s snapshot) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(u.dir, corpus.RaftDir, "snapshots", "*", "state.bin"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%d snapshots, %v", len(found), err)
	}
	text, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(text, []byte(head)) || len(text) < 16 {
		t.Fatalf("the snapshot begins with %x", text[:min(len(text), 16)])
	}
	s.applied = binary.BigEndian.Uint64(text[8:])
	s.restore(t, text[16:])
	return s
}

func (s *snapshot) restore(t *testing.T, text []byte) {
	t.Helper()
	m, err := wire.ReadSnapshot(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Check(); err != nil {
		t.Error(err)
	}
	s.text, s.machine, s.digest = text, m, m.Digest()
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
