// Package series is the backups of one cluster in a target (SPEC C8): blobs once by digest, and each backup a small record that appears when all
// that it names is there and verified. DESIGN.md has the layout, and says why runs do not damage each other.
package series

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/taskrt/taskrt/backup"
	"github.com/taskrt/taskrt/backup/target"
)

// Format is the number of the layout that this build writes and reads.
const Format = 1

// The folders of a cluster.
const (
	cluster   = "taskrt-" // and its ID
	backups   = "backups/"
	states    = "states/"
	lists     = "lists/"
	blobs     = "blobs/"
	runs      = "runs/"
	condemned = "condemned/"
	marker    = "marker"
)

// Series is the backups of one cluster.
type Series struct {
	Target  target.Target
	Cluster string // ID
}

// Entry is one backup: what stands in its record.
type Entry struct {
	Format    int           `json:"format"`
	Name      string        `json:"name"`
	Header    backup.Header `json:"header"`
	State     Part          `json:"state"`
	List      Part          `json:"list"` // of its blobs
	Encrypted bool          `json:"encrypted"`
	Finished  time.Time     `json:"finished"`  // by the clock of the node
	New       int64         `json:"new_blobs"` // that were not in the target before
	NewBytes  int64         `json:"new_bytes"` // of them, and of the state and the list
}

// Part is an object of a backup, as it is stored.
type Part struct {
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// stamp is how the time stands in a name.
const stamp = "20060102T150405Z"

// nameOf makes the name of a backup: when its run began, and the token of the run.
func nameOf(at time.Time, token uint64) string {
	return fmt.Sprintf("%s-%016x", at.UTC().Format(stamp), token)
}

// parse reads the name of a backup.
func parse(name string) (at time.Time, token uint64, ok bool) {
	day, number, ok := strings.Cut(name, "-")
	at, err := time.Parse(stamp, day)
	if !ok || err != nil || len(number) != 16 {
		return at, 0, false
	}
	token, err = strconv.ParseUint(number, 16, 64)
	return at, token, err == nil && nameOf(at, token) == name
}

func (s Series) folder() string { return cluster + s.Cluster + "/" }

// path returns the name of an object in the target.
func (s Series) path(folder, name string) string { return s.folder() + folder + name }

// Clusters names the clusters that have backups in a target.
func Clusters(ctx context.Context, t target.Target) ([]string, error) {
	folders, err := t.Folders(ctx, "")
	var ids []string
	for _, f := range folders {
		if id, ok := strings.CutPrefix(f, cluster); ok && id != "" {
			ids = append(ids, id)
		}
	}
	return ids, err
}

// named is an object that has the name of a run.
type named struct {
	target.Object
	name  string
	at    time.Time
	token uint64
}

// names lists the objects of a folder that have names of runs, by token.
func (s Series) names(ctx context.Context, folder string) (all []named, err error) {
	for o, err := range s.Target.List(ctx, s.folder()+folder) {
		if err != nil {
			return nil, err
		}
		name := strings.TrimPrefix(o.Name, s.folder()+folder)
		if at, token, ok := parse(name); ok {
			all = append(all, named{o, name, at, token})
		}
	}
	slices.SortFunc(all, func(a, b named) int { return strings.Compare(a.name[len(stamp):], b.name[len(stamp):]) })
	return all, nil
}

// published lists the backups, the oldest run first. An empty object is no backup: it says that a run was given up.
func (s Series) published(ctx context.Context) (all, givenUp []named, err error) {
	all, err = s.names(ctx, backups)
	for _, n := range all {
		if n.Size == 0 {
			givenUp = append(givenUp, n)
		}
	}
	return slices.DeleteFunc(all, func(n named) bool { return n.Size == 0 }), givenUp, err
}

// List returns the backups, the oldest first.
func (s Series) List(ctx context.Context) ([]Entry, error) {
	there, _, err := s.published(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]Entry, 0, len(there))
	for _, n := range there {
		e, err := s.entry(ctx, n.name)
		if errors.Is(err, target.ErrNotThere) {
			continue // it was removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

// entry reads the record of a backup.
func (s Series) entry(ctx context.Context, name string) (e Entry, err error) {
	b, err := target.Small(ctx, s.Target, s.path(backups, name))
	if err != nil {
		return e, fmt.Errorf("the record of backup %s: %w", name, err)
	}
	if err := json.Unmarshal(b, &e); err != nil {
		return e, fmt.Errorf("%w: the record of backup %s cannot be read: %w", backup.ErrDamaged, name, err)
	}
	switch {
	case e.Format != Format:
		return e, fmt.Errorf("%w: backup %s has layout %d, and this build reads layout %d", backup.ErrVersion, name, e.Format, Format)
	case e.Name != name || e.Header.Cluster != s.Cluster:
		return e, fmt.Errorf("%w: the record of backup %s is that of %.80q of cluster %.80q", backup.ErrDamaged, name, e.Name, e.Header.Cluster)
	}
	return e, nil
}

// ErrNone says that there is no such backup.
var ErrNone = errors.New("no backup is there")

// Find returns the newest backup whose run began at a time or before; the zero time: the newest of all.
func (s Series) Find(ctx context.Context, at time.Time) (e Entry, err error) {
	there, _, err := s.published(ctx)
	if err != nil {
		return e, err
	}
	for _, n := range slices.Backward(there) {
		if at.IsZero() || !n.at.After(at) {
			return s.entry(ctx, n.name)
		}
	}
	if len(there) > 0 {
		return e, fmt.Errorf("%w: of cluster %s the oldest one in %s is of %s", ErrNone, s.Cluster, s.Target, there[0].at.Format(time.RFC3339))
	}
	return e, fmt.Errorf("%w: of cluster %s in %s", ErrNone, s.Cluster, s.Target)
}

// Named returns the backup of a name.
func (s Series) Named(ctx context.Context, name string) (Entry, error) {
	if _, _, ok := parse(name); !ok {
		return Entry{}, fmt.Errorf("%w: %.80q is no name of a backup", ErrNone, name)
	}
	e, err := s.entry(ctx, name)
	if errors.Is(err, target.ErrNotThere) {
		return e, fmt.Errorf("%w: %s of cluster %s in %s", ErrNone, name, s.Cluster, s.Target)
	}
	return e, err
}

// Bytes returns how many bytes a backup has in its target, blobs that it shares with others included.
func (e *Entry) Bytes() int64 { return e.Header.BlobBytes + e.State.Bytes + e.List.Bytes }

// Marker returns what tells this place from others of the same name; "": there is nothing yet.
func (s Series) Marker(ctx context.Context) (string, error) {
	b, err := target.Small(ctx, s.Target, s.folder()+marker)
	if errors.Is(err, target.ErrNotThere) {
		return "", nil
	}
	return strings.TrimSpace(string(b)), err
}

// Mark writes the marker, and returns the marker that is there then. exclusive is false if the target overwrites an object that it was told to leave alone.
func (s Series) Mark(ctx context.Context, text string) (there string, exclusive bool, err error) {
	if _, err := s.Target.Create(ctx, s.folder()+marker, []byte(text+"\n")); err != nil {
		return "", false, err
	}
	if there, err = s.Marker(ctx); err != nil {
		return "", false, err
	}
	created, err := s.Target.Create(ctx, s.folder()+marker, []byte(there+"\n\n")) // which is the same marker, if it is written over
	return there, !created, err
}
