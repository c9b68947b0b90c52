package series

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/taskrt/taskrt/backup"
)

// Source is the state that a run saves. It stays as it is while the run goes on.
type Source interface {
	Header() backup.Header
	// Blobs are those that the state knows, by digest.
	Blobs() []backup.Blob
	// State writes the state. It may be asked for more than once, and gives the same each time.
	State(w *backup.Writer) error
	// Open opens a blob.
	Open(ctx context.Context, b backup.Blob) (io.ReadCloser, error)
	// Held returns an error if blobs of the state may have been dropped since it was taken.
	Held(ctx context.Context) error
}

// Seal encrypts what a run stores.
type Seal struct {
	Tag  Tag // of those to whom
	Wrap func(io.Writer) (io.WriteCloser, error)
}

// Job is one run.
type Job struct {
	Token uint64 // of the run's lease: greater than those of all runs before
	Now   func() time.Time
	Keep  int // how many backups are kept
	// Alive returns an error if the token is no longer the current one.
	Alive func(context.Context) error
	// Take makes the source, when the run has said in the target that it goes on.
	Take func(context.Context) (Source, error)
	// Pace is asked before so many bytes are read or written. Progress is told what the run does. Their errors end the run.
	Pace     func(ctx context.Context, bytes int) error
	Progress func(phase string, done int64) error
	Seal     *Seal // nil: nothing is encrypted
	// Exclusive says that the target creates objects exclusively (Series.Mark). Without it a run that may be under way yet delays collections.
	Exclusive bool
	Parallel  int // blobs at a time; default 2
	Logger    *slog.Logger

	grace grace // zero: the defaults
}

// grace is how old things get, by the clock of the target.
type grace struct {
	condemned time.Duration // before what is in a list of condemned blobs is deleted
	run       time.Duration // before a run is given up, where objects are not created exclusively
	givenUp   time.Duration // before it is forgotten that a run was given up
	recheck   time.Duration // in which each blob is hashed once
}

// Recheck is in which time each blob that is used again is hashed once, if backups are made at least as often.
const Recheck = 7 * 24 * time.Hour

var defaultGrace = grace{condemned: 10 * time.Minute, run: 24 * time.Hour, givenUp: 30 * 24 * time.Hour, recheck: Recheck}

// ErrGivenUp says that a later run has given this one up.
var ErrGivenUp = errors.New("a later run of the backup has taken over")

// run is a run under way.
type run struct {
	Series
	Job

	name   string
	source Source
	old    map[key]bool // condemned when the run began: not to be counted on
	last   time.Time    // when the run of the newest backup began
	list   []stored
	entry  Entry
	tried  bool // to publish: from then on nothing of the backup is removed
}

// Run makes a backup, removes those that are too many, and blobs that nothing needs. If the error is an AfterError the backup is there, and the
// rest was not done.
func (s Series) Run(ctx context.Context, j Job) (Entry, error) {
	if j.grace == (grace{}) {
		j.grace = defaultGrace
	}
	if j.Parallel == 0 {
		j.Parallel = 2
	}
	r := &run{Series: s, Job: j}
	if err := r.backup(ctx); err != nil {
		r.tidy(ctx)
		return Entry{}, err
	}
	if err := r.after(ctx); err != nil {
		return r.entry, &AfterError{err}
	}
	return r.entry, nil
}

// AfterError says that a backup was made, and that what comes after it was not done: the next run does it.
type AfterError struct{ Err error }

func (e *AfterError) Error() string {
	return "the backup is there; older ones, or blobs that nothing needs, were not removed: " + e.Err.Error()
}

// Unwrap returns why.
func (e *AfterError) Unwrap() error { return e.Err }

// backup makes the backup. The order of its steps is what DESIGN.md reasons about.
func (r *run) backup(ctx context.Context) error {
	if err := r.Alive(ctx); err != nil {
		return err
	}
	r.name = nameOf(r.Now(), r.Token)
	if err := r.put(ctx, runs, []byte("{}\n")); err != nil {
		return fmt.Errorf("say that the run goes on: %w", err)
	}
	there, _, err := r.published(ctx)
	if err != nil {
		return err
	}
	if n := len(there); n > 0 {
		if r.last = there[n-1].at; there[n-1].token > r.Token {
			return ErrGivenUp
		}
	}
	if r.old, err = r.condemnedKeys(ctx); err != nil {
		return err
	}
	if r.source, err = r.Take(ctx); err != nil {
		return err
	}
	if err := r.blobs(ctx); err != nil {
		return err
	}
	if err := r.parts(ctx); err != nil {
		return err
	}
	return r.publish(ctx)
}

// publish makes the backup appear. Before, it is certain that all blobs that the state knows were there, and that the run was not lost.
func (r *run) publish(ctx context.Context) error {
	if err := r.Progress("publish", 0); err != nil {
		return err
	}
	if err := r.source.Held(ctx); err != nil {
		return err
	}
	if err := r.Alive(ctx); err != nil {
		return err
	}
	r.entry.Finished = r.Now().UTC()
	text, err := json.MarshalIndent(r.entry, "", "  ")
	if err != nil {
		return err
	}
	r.tried = true
	created, err := r.Target.Create(ctx, r.path(backups, r.name), append(text, '\n'))
	if err == nil && !created {
		err = ErrGivenUp
	}
	return err
}

// tidyTimeout bounds how long a run that fails removes what it has written.
const tidyTimeout = 5 * time.Second

// tidy removes what a failed run has written of a backup. Its blobs stay for the next run. What is not removed here, a later run gives up.
func (r *run) tidy(ctx context.Context) {
	if r.tried || r.name == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidyTimeout)
	defer cancel()
	for _, folder := range []string{states, lists, runs} {
		if r.Target.Delete(ctx, r.path(folder, r.name)) != nil {
			return
		}
	}
}

func (r *run) put(ctx context.Context, folder string, data []byte) error {
	return r.Target.Put(ctx, r.path(folder, r.name), newReader(data), int64(len(data)))
}
