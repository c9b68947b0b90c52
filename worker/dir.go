package worker

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/taskrt/taskrt/internal/birth"
	"github.com/taskrt/taskrt/internal/durable"
)

// ErrDirInUse means that another live worker holds the directory.
var ErrDirInUse = errors.New("worker: directory in use")

// dir is the worker's directory. A process that holds its lock and knows its secret may end a former session of the worker at
// once: the process that opened that session is dead, and its guests died with it (SPEC L6).
type dir struct {
	lock   *os.File
	proof  []byte // SHA-256 over the secret: what the cluster knows
	starts uint64 // how often a worker has taken the directory, this time included; from 1
}

// helloBits leaves room for the Hellos of one process between the numbers of two starts.
const helloBits = 32

// Lock keeps other processes out of a directory until the file is closed. They get ErrDirInUse.
func Lock(path string) (*os.File, error) {
	lock, err := os.OpenFile(filepath.Join(path, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("worker: %w", err)
	}
	// flock, not fcntl: it excludes another instance in this process too, and no close of another descriptor drops it.
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		lock.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("%w: %s: another worker process holds its lock", ErrDirInUse, path)
		}
		return nil, fmt.Errorf("worker: lock %s: %w", path, err)
	}
	return lock, nil
}

// openDir locks path and reads its secret. If there is none, it draws one.
func openDir(path string) (*dir, error) {
	if err := durable.MkdirAll(path); err != nil {
		return nil, fmt.Errorf("worker: %w", err)
	}
	if err := os.Chmod(path, 0o700); err != nil { // it may have existed; a reader of the secret can end our session
		return nil, fmt.Errorf("worker: %w", err)
	}
	lock, err := Lock(path)
	if err != nil {
		return nil, err
	}
	secret, err := ownSecret(path, lock)
	if err != nil {
		lock.Close()
		return nil, err
	}
	starts, err := countStart(path)
	if err != nil {
		lock.Close()
		return nil, err
	}
	proof := sha256.Sum256(secret)
	return &dir{lock: lock, proof: proof[:], starts: starts}, nil
}

// countStart counts one more start, durably. The count numbers a worker's Hellos over its restarts, so that a late Hello of a
// former process cannot end the session of the present process (SPEC L6). If the count is lost, Hellos are refused until the former
// session has expired; nothing worse happens.
func countStart(path string) (uint64, error) {
	name := filepath.Join(path, "starts")
	text, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("worker: %w", err)
	}
	var starts uint64
	if err == nil {
		if starts, err = strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64-helloBits); err != nil {
			return 0, fmt.Errorf("worker: %s is damaged; delete it, and a former session of this worker ends with its TTL", name)
		}
	}
	starts++
	return starts, writeFile(name, strconv.FormatUint(starts, 10)+"\n")
}

// close releases the lock. A second close does nothing.
func (d *dir) close() { d.lock.Close() }

// secretBytes is the length of a secret.
const secretBytes = 32

// ownSecret reads the secret. If the directory is a copy of the one for which the secret was drawn, it draws another secret, because nobody here
// knows whether the lock of the original is held (SPEC L6). Then the former session of this worker ends with its TTL.
func ownSecret(path string, lock *os.File) ([]byte, error) {
	record := filepath.Join(path, "secret.of")
	bond, err := birth.Look(record, lock)
	if err != nil {
		return nil, fmt.Errorf("worker: %w", err)
	}
	var secret []byte
	if bond == birth.Copied {
		secret, err = drawSecret(filepath.Join(path, "secret"))
	} else {
		secret, err = readSecret(path)
	}
	if err != nil || bond == birth.Bound {
		return secret, err
	}
	if err := birth.Bind(record, lock); err != nil { // copied, new, or of a build that bound no secret
		return nil, fmt.Errorf("worker: %w", err)
	}
	return secret, nil
}

func readSecret(path string) ([]byte, error) {
	name := filepath.Join(path, "secret")
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return drawSecret(name)
	}
	if err != nil {
		return nil, fmt.Errorf("worker: %w", err)
	}
	secret, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(secret) != secretBytes {
		return nil, fmt.Errorf("worker: %s is damaged; delete it, and a former session of this worker ends with its TTL", name)
	}
	return secret, nil
}

// drawSecret writes a new secret. It writes the whole secret or nothing, so that a crash leaves no damaged file.
func drawSecret(name string) ([]byte, error) {
	secret := make([]byte, secretBytes)
	rand.Read(secret)
	return secret, writeFile(name, hex.EncodeToString(secret)+"\n")
}

// writeFile replaces a file durably.
func writeFile(name, text string) error {
	if err := durable.WriteFile(name, []byte(text)); err != nil {
		return fmt.Errorf("worker: write %s: %w", name, err)
	}
	return nil
}
