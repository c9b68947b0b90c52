package logstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"
)

// filled returns a log of entries 50 to 900, of two terms, with variables.
func filled(t *testing.T, kind Kind) *suite {
	t.Helper()
	return filledIn(t, t.TempDir(), kind)
}

func filledIn(t *testing.T, dir string, kind Kind) *suite {
	t.Helper()
	s := &suite{t: t, dir: dir, kind: kind}
	s.open()
	s.append(50, 499, 4)
	s.append(500, 900, 5)
	if err := errors.Join(s.SetUint64([]byte("CurrentTerm"), 7), s.SetUint64([]byte("LastVoteTerm"), 6), s.Set([]byte("LastVoteCand"), []byte("n2/abc"))); err != nil {
		t.Fatal(err)
	}
	s.close()
	return s
}

// intact demands that the directory holds exactly what filled wrote, in this format.
func (s *suite) intact(kind Kind) {
	s.t.Helper()
	s.kind = kind
	s.open()
	s.holds(50, 900, func(i uint64) uint64 { return 4 + min(1, i/500) })
	current, err := number(s, "CurrentTerm")
	voted, err2 := number(s, "LastVoteTerm")
	cand, err3 := text(s, "LastVoteCand")
	if err := errors.Join(err, err2, err3); err != nil || current != 7 || voted != 6 || string(cand) != "n2/abc" {
		s.t.Fatal(current, voted, string(cand), err)
	}
	s.close()
	names, err := filepath.Glob(filepath.Join(s.dir, "*"))
	if err != nil {
		s.t.Fatal(err)
	}
	for i := range names {
		names[i] = filepath.Base(names[i])
	}
	slices.Sort(names)
	if want := map[Kind][]string{Bolt: {"lock", "raft.db"}, WAL: {"lock", "raft.db", "wal"}}[kind]; !slices.Equal(names, want) {
		s.t.Fatalf("the directory holds %v, want %v", names, want)
	}
}

func (s *suite) migrate(ctx context.Context, to Kind, progress func(done, total uint64)) (Migrated, error) {
	return Migrate(ctx, s.dir, to, s.options(), progress)
}

func ignore(uint64, uint64) {}

func eachWay(t *testing.T, f func(t *testing.T, s *suite, to Kind)) {
	for _, from := range Kinds {
		to := map[Kind]Kind{Bolt: WAL, WAL: Bolt}[from]
		t.Run("to "+string(to), func(t *testing.T) { f(t, filled(t, from), to) })
	}
}

func TestMigrate(t *testing.T) {
	eachWay(t, func(t *testing.T, s *suite, to Kind) {
		from := s.kind
		var seen []uint64
		m, err := s.migrate(t.Context(), to, func(done, total uint64) { seen = append(seen, done, total) })
		if want := (Migrated{From: from, To: to, Changed: true, First: 50, Last: 900}); err != nil || m != want {
			t.Fatalf("%+v %v", m, err)
		}
		if n := len(seen); n < 4 || seen[n-1] != 2*851 || seen[n-2] != 2*851 {
			t.Fatalf("progress %v", seen)
		}
		s.intact(to)
		if m, err := s.migrate(t.Context(), to, ignore); err != nil || m.Changed {
			t.Fatalf("again: %+v %v", m, err)
		}
		if _, err := s.migrate(t.Context(), from, ignore); err != nil {
			t.Fatal(err)
		}
		s.intact(from)
	})
}

// TestMigrateInterrupted: after every step there is one whole log, and the next attempt succeeds.
func TestMigrateInterrupted(t *testing.T) {
	eachWay(t, func(t *testing.T, s *suite, to Kind) {
		from := s.kind
		for _, at := range []uint64{1, 600, 851, 852, 1701} {
			ctx, cancel := context.WithCancel(t.Context())
			m, err := s.migrate(ctx, to, func(done, _ uint64) {
				if done >= at {
					cancel()
				}
			})
			if !errors.Is(err, context.Canceled) || m.Changed {
				t.Fatalf("at %d: %+v %v", at, m, err)
			}
			if kind, err := Find(s.dir); kind != from || err != nil {
				t.Fatal(kind, err)
			}
		}
		s.intact(from)
		if _, err := s.migrate(t.Context(), to, ignore); err != nil {
			t.Fatal(err)
		}
		s.intact(to)
	})
}

// TestMigrateDied: the process died between the last steps.
func TestMigrateDied(t *testing.T) {
	for _, to := range []Kind{Bolt, WAL} {
		old, migrated := filled(t, Bolt), filled(t, Bolt)
		if _, err := migrated.migrate(t.Context(), WAL, ignore); err != nil {
			t.Fatal(err)
		}
		// On the way to WAL the WAL files are there and the pointer is not. On the way to bolt bolt's file is there, and
		// the WAL files are not removed yet. Both directories are the same, and both are bolt's.
		if err := os.CopyFS(filepath.Join(old.dir, walDir), os.DirFS(filepath.Join(migrated.dir, walDir))); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(old.dir, newBolt), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(old.dir, WAL, old.options()); !errors.Is(err, ErrOtherKind) {
			t.Fatal(err)
		}
		if m, err := old.migrate(t.Context(), to, ignore); err != nil || m.Changed != (to == WAL) {
			t.Fatal(m, err)
		}
		old.intact(to)
	}
}

// migrateMain is the child's main function. It converts to and fro, a number of times or for ever. It says what it is
// about to do, and when it is done.
func migrateMain(dir string, times int) error {
	for i := 1; times == 0 || i <= times; i++ {
		to := WAL
		if i%2 == 0 {
			to = Bolt
		}
		fmt.Println("to", to)
		if _, err := Migrate(context.Background(), dir, to, Options{SegmentBytes: fileBytes}, ignore); err != nil {
			return err
		}
		fmt.Println("is", to)
	}
	return nil
}

// TestMigrateKilled: the process is killed at any moment, and the directory has one whole log.
func TestMigrateKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	s := filled(t, Bolt)
	s.kind = ""
	seen := map[Kind]bool{}
	for range 12 {
		s.kind = ""
		cmd, lines := s.child()
		for range 1 + rand.IntN(2) {
			lines.Scan()
		}
		<-time.After(time.Duration(rand.Int64N(int64(300 * time.Millisecond))))
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "failed") {
				t.Fatal(lines.Text())
			}
		}
		_ = cmd.Wait()
		kind, err := Find(s.dir)
		if err != nil {
			t.Fatal(err)
		}
		seen[kind] = true
		s.intact(kind)
	}
	t.Logf("found as %v", seen)
}

func TestMigrateRefuses(t *testing.T) {
	eachWay(t, func(t *testing.T, s *suite, to Kind) {
		from := s.kind
		s.open()
		for _, kind := range Kinds {
			if _, err := s.migrate(t.Context(), kind, ignore); !errors.Is(err, ErrInUse) {
				t.Fatalf("while it is open: %v", err)
			}
		}
		s.close()
		if _, err := Migrate(t.Context(), t.TempDir(), to, s.options(), ignore); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("an empty directory: %v", err)
		}
		s.intact(from)
		s.open()
		if err := s.Set([]byte("Unknown"), []byte("x")); err != nil {
			t.Fatal(err)
		}
		s.close()
		if _, err := s.migrate(t.Context(), to, ignore); err == nil {
			t.Fatal("an unknown variable was left behind")
		}
		s.intact(from)
	})
	t.Run("a hole", func(t *testing.T) { // bolt takes it
		s := filled(t, Bolt)
		db, err := bbolt.Open(filepath.Join(s.dir, boltFile), 0o600, nil)
		if err != nil {
			t.Fatal(err)
		}
		err = db.Update(func(tx *bbolt.Tx) error {
			return tx.Bucket([]byte("logs")).Delete([]byte{0, 0, 0, 0, 0, 0, 0, 100})
		})
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		if _, err := s.migrate(t.Context(), WAL, ignore); !errors.Is(err, ErrDamaged) {
			t.Fatal(err)
		}
		if kind, err := Find(s.dir); kind != Bolt || err != nil {
			t.Fatal(kind, err)
		}
	})
}
