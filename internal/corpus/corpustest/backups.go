package corpustest

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/taskrt/taskrt/backup"
	"github.com/taskrt/taskrt/backup/sealed"
	"github.com/taskrt/taskrt/backup/series"
	"github.com/taskrt/taskrt/backup/target"
	"github.com/taskrt/taskrt/internal/corpus"
)

// saved is what a backup holds of the state.
type saved struct {
	corpus.Backup
	snapshot
}

// backups verifies the backups of the directory, and returns their states by the index of the log.
func (u *unpacked) backups(t *testing.T) map[uint64]saved {
	t.Helper()
	all := map[uint64]saved{}
	for _, b := range u.Backups {
		r, err := u.open(t, b)
		if err != nil {
			t.Fatalf("%s: %v", b.Place, err)
		}
		v, err := backup.Verify(r, nil)
		if err != nil || len(v.Missing) > 0 || v.End.Blobs == 0 || v.Header.Tasks < 10 {
			t.Fatalf("%s: %+v, %v", b.Place, v, err)
		}
		if h := v.Header; h.Cluster != u.Cluster || h.Index != b.Index || fmt.Sprintf("%016x", h.Digest) != b.Digest || h.Level != u.Level {
			t.Errorf("%s: the header is %+v, and the version said %+v", b.Place, h, b)
		}
		s := saved{Backup: b}
		s.restore(t, u.stateOf(t, b))
		all[b.Index] = s
	}
	return all
}

// stateOf reads the state in a backup.
func (u *unpacked) stateOf(t *testing.T, b corpus.Backup) (state []byte) {
	t.Helper()
	from, err := u.open(t, b)
	if err != nil {
		t.Fatal(err)
	}
	r, err := backup.NewReader(from)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	err = r.State(func(from io.Reader) (err error) {
		state, err = io.ReadAll(from)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// open opens a backup, decrypted.
func (u *unpacked) open(t *testing.T, b corpus.Backup) (io.Reader, error) {
	t.Helper()
	keys, err := sealed.Identities([]string{filepath.Join(u.dir, corpus.IdentityFile)})
	if err != nil {
		return nil, err
	}
	unseal := func(r io.Reader) (io.Reader, error) {
		plain, was, err := sealed.Open(r, keys)
		if was != b.Sealed {
			t.Errorf("%s: that it is encrypted is %v", b.Place, was)
		}
		return plain, err
	}
	place := filepath.Join(u.dir, filepath.FromSlash(b.Place))
	if !b.Target {
		f, err := os.Open(place)
		if err != nil {
			return nil, err
		}
		t.Cleanup(func() { _ = f.Close() }) // it was read
		return unseal(f)
	}
	s := series.Series{Target: target.Dir(place), Cluster: u.Cluster}
	e, err := s.Find(t.Context(), time.Time{})
	if err != nil {
		return nil, err
	}
	r := s.Open(t.Context(), e, unseal)
	t.Cleanup(func() { _ = r.Close() }) // likewise
	return r, nil
}
