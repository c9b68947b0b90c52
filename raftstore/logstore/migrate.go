package logstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"

	"github.com/taskrt/taskrt/internal/durable"
)

// Migrated says what Migrate did.
type Migrated struct {
	From    Kind   `json:"from"`
	To      Kind   `json:"to"`
	Changed bool   `json:"changed"`     // false: it had that format already
	First   uint64 `json:"first_entry"` // of the log; 0: it is empty
	Last    uint64 `json:"last_entry"`
}

// Entries returns how many entries the log has.
func (m *Migrated) Entries() uint64 {
	if m.Last == 0 {
		return 0
	}
	return m.Last - m.First + 1
}

// The names of raft's durable variables. The formats write numbers differently, so numbers are copied as numbers and
// bytes as bytes.
var (
	numberKeys = []string{"CurrentTerm", "LastVoteTerm"}
	bytesKeys  = []string{"LastVoteCand"}
)

// Migrate converts the log in dir, which no process may have open, to another format. It writes the new log beside the
// old one, syncs it, opens it again and compares it entry by entry. Then one rename makes it the directory's, and the
// old log is removed. Whenever Migrate is interrupted, the directory has either the old or the new log, whole, and the
// next Migrate begins anew or finds the work done. progress is told how many steps are done, of how many; a step is an
// entry that was copied or compared.
func Migrate(ctx context.Context, dir string, to Kind, o Options, progress func(done, total uint64)) (m Migrated, err error) {
	o.setDefaults()
	from, err := Find(dir)
	if err != nil {
		return m, err
	}
	if from == "" {
		return m, fmt.Errorf("%s holds no log: %w", dir, os.ErrNotExist)
	}
	m = Migrated{From: from, To: to}
	if from != to {
		if err := checkKeys(dir, from); err != nil {
			return m, err
		}
	}
	old, err := Open(dir, from, o) // it removes what an earlier attempt has left
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, old.Close()) }()
	if from == to {
		return m, nil
	}
	if m.First, m.Last, err = bounds(old); err != nil {
		return m, err
	}
	if err := build(ctx, dir, old, &m, &o, progress); err != nil {
		return m, err
	}
	return m, replace(dir, &m)
}

// build writes the new log and compares it with the old one.
func build(ctx context.Context, dir string, old Store, m *Migrated, o *Options, progress func(done, total uint64)) error {
	var done, total uint64
	if m.Last > 0 {
		total = 2 * m.Entries()
	}
	step := func(n int) error {
		done += uint64(n)
		progress(done, total)
		return ctx.Err()
	}
	s, err := openAt(dir, m.To, newBolt, newWAL, o)
	if err != nil {
		return err
	}
	err = copyKeys(old, s)
	if err == nil {
		err = copyLog(old, s, m.First, m.Last, step)
	}
	if err := errors.Join(err, s.Close()); err != nil {
		return err
	}
	// It is opened again, so that what is compared is what the next start will find.
	if s, err = openAt(dir, m.To, newBolt, newWAL, o); err != nil {
		return err
	}
	err = compareKeys(old, s)
	if err == nil {
		err = compareLogs(old, s, m.First, m.Last, step)
	}
	return errors.Join(err, s.Close())
}

// replace puts the new log in the place of the directory's log.
func replace(dir string, m *Migrated) error {
	at := func(name string) string { return filepath.Join(dir, name) }
	if m.To == Bolt {
		if err := syncTree(at(newBolt)); err != nil {
			return err
		}
		if err := durable.Rename(at(newBolt), at(boltFile)); err != nil {
			return err
		}
		m.Changed = true
		return os.RemoveAll(at(walDir))
	}
	if err := syncTree(at(newWAL)); err != nil {
		return err
	}
	if err := durable.Rename(at(newWAL), at(walDir)); err != nil {
		return err
	}
	if err := durable.WriteFile(at(boltFile), []byte(pointer)); err != nil { // this replaces raft.db
		return err
	}
	m.Changed = true
	return nil
}

// checkKeys refuses a log with variables that Migrate does not know how to copy.
func checkKeys(dir string, kind Kind) error {
	file, bucket := filepath.Join(dir, boltFile), "conf"
	if kind == WAL {
		file, bucket = filepath.Join(dir, walDir, walMeta), "stable"
	}
	keys, err := keysOf(file, bucket)
	if err != nil {
		return err
	}
	for _, k := range keys {
		if !slices.Contains(numberKeys, k) && !slices.Contains(bytesKeys, k) {
			return fmt.Errorf("%s holds the variable %q, which this version does not know", file, k)
		}
	}
	return nil
}

func bounds(s Store) (first, last uint64, err error) {
	if first, err = s.FirstIndex(); err != nil {
		return 0, 0, err
	}
	last, err = s.LastIndex()
	return first, last, err
}

// batchBytes and batchEntries bound what is copied in one append.
const (
	batchBytes   = 4 << 20
	batchEntries = 512
)

func copyLog(old, s Store, first, last uint64, step func(int) error) error {
	var batch []*raft.Log
	bytes := 0
	for i := first; i <= last && last > 0; i++ {
		e, err := entry(old, i)
		if err != nil {
			return err
		}
		batch, bytes = append(batch, e), bytes+len(e.Data)
		if i < last && bytes < batchBytes && len(batch) < batchEntries {
			continue
		}
		if err := s.StoreLogs(batch); err != nil {
			return err
		}
		if err := step(len(batch)); err != nil {
			return err
		}
		batch, bytes = nil, 0
	}
	return nil
}

func entry(s Store, i uint64) (*raft.Log, error) {
	e := &raft.Log{}
	if err := s.GetLog(i, e); err != nil {
		return nil, fmt.Errorf("%w: entry %d: %w", ErrDamaged, i, err)
	}
	return e, nil
}

func compareLogs(old, s Store, first, last uint64, step func(int) error) error {
	f, l, err := bounds(s)
	if err != nil {
		return err
	}
	if f != first || l != last {
		return fmt.Errorf("%w: the copy holds entries %d to %d, not %d to %d", ErrDamaged, f, l, first, last)
	}
	for i := first; i <= last && last > 0; i++ {
		a, err := entry(old, i)
		if err != nil {
			return err
		}
		b, err := entry(s, i)
		if err != nil {
			return err
		}
		if a.Index != b.Index || a.Term != b.Term || a.Type != b.Type || !bytes.Equal(a.Data, b.Data) ||
			!bytes.Equal(a.Extensions, b.Extensions) || !a.AppendedAt.Equal(b.AppendedAt) {
			return fmt.Errorf("%w: the copy of entry %d differs", ErrDamaged, i)
		}
		if err := step(1); err != nil {
			return err
		}
	}
	return nil
}

// number and text read a variable. One format answers with zero for an absent variable, the other with an error: both
// become zero or nil.
func number(s Store, key string) (uint64, error) {
	v, err := s.GetUint64([]byte(key))
	if isAbsent(err) {
		return 0, nil
	}
	return v, err
}

func isAbsent(err error) bool { return errors.Is(err, raftboltdb.ErrKeyNotFound) }

func text(s Store, key string) ([]byte, error) {
	v, err := s.Get([]byte(key))
	if isAbsent(err) {
		return nil, nil
	}
	return v, err
}

func copyKeys(old, s Store) error {
	for _, k := range numberKeys {
		v, err := number(old, k)
		if err == nil && v > 0 {
			err = s.SetUint64([]byte(k), v)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", k, err)
		}
	}
	for _, k := range bytesKeys {
		v, err := text(old, k)
		if err == nil && len(v) > 0 {
			err = s.Set([]byte(k), v)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", k, err)
		}
	}
	return nil
}

func compareKeys(old, s Store) error {
	for _, k := range numberKeys {
		a, err := number(old, k)
		if err != nil {
			return err
		}
		b, err := number(s, k)
		if err != nil {
			return err
		}
		if a != b {
			return fmt.Errorf("%w: %s is %d and its copy %d", ErrDamaged, k, a, b)
		}
	}
	for _, k := range bytesKeys {
		a, err := text(old, k)
		if err != nil {
			return err
		}
		b, err := text(s, k)
		if err != nil {
			return err
		}
		if !bytes.Equal(a, b) {
			return fmt.Errorf("%w: %s is %q and its copy %q", ErrDamaged, k, a, b)
		}
	}
	return nil
}
