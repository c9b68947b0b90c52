package contexts

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/taskrt/taskrt/internal/durable"
	"github.com/taskrt/taskrt/internal/idle"
	"github.com/taskrt/taskrt/trust"
)

// Store is the directory with the file of contexts. Several processes may use it at the same time.
type Store struct{ dir string }

// Names in the directory.
const (
	fileName = "contexts.json"
	lockName = "contexts.lock"
)

// lockPatience bounds the wait for another process that writes the file, which takes it milliseconds.
const lockPatience = 10 * time.Second

// New returns the store in a directory, which need not be there.
func New(dir string) *Store { return &Store{dir} }

// OfUser returns the store of the user: taskrt in the directory for configurations, which is $XDG_CONFIG_HOME or ~/.config on Linux.
func OfUser() (*Store, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return nil, fmt.Errorf("where contexts are kept: %w", err)
	}
	return New(filepath.Join(dir, "taskrt")), nil
}

// Path is where the file is.
func (s *Store) Path() string { return filepath.Join(s.dir, fileName) }

// Read reads the file. If there is none, there are no contexts.
func (s *Store) Read() (*File, error) {
	f := &File{Contexts: map[string]*Context{}}
	if _, err := os.Stat(s.Path()); errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err := s.checkDir(); err != nil {
		return nil, err
	}
	text, err := trust.ReadFile(s.Path())
	if err != nil {
		return nil, err
	}
	if err := decode(text, f); err != nil {
		return nil, fmt.Errorf("%s: %s", s.Path(), err) //nolint:errorlint // what is wrong in a file is no usage error
	}
	return f, nil
}

// checkDir refuses a directory that others can look into or write to.
func (s *Store) checkDir() error {
	info, err := os.Stat(s.dir)
	if err != nil {
		return err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("%s is open to others (mode %04o): chmod 700 %s", s.dir, mode, s.dir)
	}
	return nil
}

// decode reads the text of a file strictly: a field that is misspelt would be a setting that is not in force.
func decode(text []byte, f *File) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(f); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something stands behind the end")
	}
	if f.Contexts == nil {
		f.Contexts = map[string]*Context{}
	}
	return f.check()
}

// Update reads the file, lets change change it, and writes it, while no other process does so. If change returns an error, nothing is
// written.
func (s *Store) Update(ctx context.Context, change func(*File) error) error {
	if err := durable.MkdirAll(s.dir); err != nil {
		return err
	}
	if err := s.checkDir(); err != nil {
		return err
	}
	lock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Close()
	f, err := s.Read()
	if err != nil {
		return err
	}
	if err := change(f); err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(f); err != nil {
		return err
	}
	if text.Len() > maxFile {
		return usagef("all contexts together would have %d bytes, at most %d are kept", text.Len(), maxFile)
	}
	return durable.WriteFile(s.Path(), text.Bytes())
}

// lock waits for the lock. To close the file unlocks it.
func (s *Store) lock(ctx context.Context) (*os.File, error) {
	name := filepath.Join(s.dir, lockName)
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			break
		}
		if !idle.For(ctx, 10*time.Millisecond) {
			err = fmt.Errorf("another process has held it for too long: %w", context.Cause(ctx))
			break
		}
	}
	return nil, errors.Join(fmt.Errorf("lock %s: %w", name, err), f.Close())
}

// Learner returns the function that trust.LearningClient tells which CA is to be kept for a context from now on. It may be called from any
// goroutine. The context keeps a CA that somebody else has given it meanwhile. What goes wrong is told to failed: the connection is good
// all the same.
func (s *Store) Learner(name string, c *Context, failed func(error)) func(ca string) {
	var mu sync.Mutex
	known := c.CA
	return func(ca string) {
		mu.Lock()
		defer mu.Unlock()
		if ca == known {
			return
		}
		err := s.Update(context.Background(), func(f *File) error {
			if now := f.Contexts[name]; now != nil && now.CA == known {
				now.CA = ca
			}
			return nil
		})
		known = ca // also if it failed: once is enough for a complaint
		if err != nil {
			failed(err)
		}
	}
}
