package series

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/taskrt/taskrt/backup"
	"github.com/taskrt/taskrt/backup/target"
)

// after removes what is too much: backups beyond Keep, what runs have left that were given up, and blobs that nothing needs.
func (r *run) after(ctx context.Context) error {
	if err := r.Progress("clean", 0); err != nil {
		return err
	}
	removed, err := r.retire(ctx)
	if err != nil {
		return err
	}
	others, err := r.others(ctx)
	if err != nil {
		return err
	}
	old, err := r.names(ctx, condemned)
	if err != nil {
		return err
	}
	if removed > 0 || len(others) > 0 || len(old) > 0 {
		if err := r.collect(ctx, old); err != nil {
			return err
		}
	}
	if err := r.Target.Delete(ctx, r.path(runs, r.name)); err != nil {
		return err
	}
	return r.Target.Sweep(ctx, r.folder(), r.grace.run)
}

// retire removes backups beyond the newest ones: first the record, so that none is listed whose parts are gone.
func (r *run) retire(ctx context.Context) (removed int, err error) {
	there, _, err := r.published(ctx)
	if err != nil || len(there) <= r.Keep {
		return 0, err
	}
	if err := r.Alive(ctx); err != nil {
		return 0, err
	}
	for _, n := range there[:len(there)-r.Keep] {
		if n.token >= r.Token {
			return removed, ErrGivenUp
		}
		for _, folder := range []string{backups, states, lists} {
			if err := r.Target.Delete(ctx, r.path(folder, n.name)); err != nil {
				return removed, err
			}
		}
		r.Logger.Info("a backup beyond those that are kept was removed", "backup", n.name)
		removed++
	}
	return removed, nil
}

// others lists the runs that say that they go on, without this one.
func (r *run) others(ctx context.Context) (all []named, err error) {
	there, err := r.names(ctx, runs)
	for _, n := range there {
		if n.token != r.Token {
			all = append(all, n)
		}
	}
	return all, err
}

// collect deletes condemned blobs that nothing needs, and condemns others. old are the lists of condemned blobs that were there before the first look
// at the other runs. So every run that counts on a blob is seen by this look, or has seen the list.
func (r *run) collect(ctx context.Context, old []named) error {
	now, err := r.clock(ctx)
	if err != nil {
		return err
	}
	waiting, err := r.fence(ctx, now)
	if err != nil || waiting {
		return err
	}
	if err := r.orphans(ctx); err != nil {
		return err
	}
	needed, err := r.needed(ctx)
	if err != nil {
		return err
	}
	known := map[key]bool{} // in a list
	for _, n := range old {
		ripe := n.token < r.Token && now.Sub(n.Modified) >= r.grace.condemned
		if err := r.sentence(ctx, n, ripe, needed, known); err != nil {
			return err
		}
	}
	return r.condemn(ctx, needed, known)
}

// clock tells the time of the target: that at which this run said that it goes on, and how long that is ago.
func (r *run) clock(ctx context.Context) (time.Time, error) {
	if err := r.put(ctx, runs, []byte("{}\n")); err != nil { // once more: what it says is when it was written
		return time.Time{}, err
	}
	there, err := r.names(ctx, runs)
	for _, n := range there {
		if n.token == r.Token {
			return n.Modified, err
		}
	}
	return time.Time{}, errors.Join(err, ErrGivenUp)
}

// fence gives up all runs before this one, so that none of them publishes any more. A run behind this one ends the collection. waiting says that a
// former run may be under way, and that this target cannot keep it from publishing.
func (r *run) fence(ctx context.Context, now time.Time) (waiting bool, err error) {
	if err := r.Alive(ctx); err != nil {
		return false, err
	}
	others, err := r.others(ctx)
	if err != nil {
		return false, err
	}
	for _, n := range others {
		switch {
		case n.token > r.Token:
			return false, ErrGivenUp
		case !r.Exclusive && now.Sub(n.Modified) < r.grace.run:
			r.Logger.Info("blobs are not collected while a former run of the backup may go on", "run", n.name)
			return true, nil
		}
		if err := r.giveUp(ctx, n); err != nil {
			return false, err
		}
	}
	_, givenUp, err := r.published(ctx)
	if err != nil {
		return false, err
	}
	for _, n := range givenUp {
		if now.Sub(n.Modified) >= r.grace.givenUp {
			if err := r.Target.Delete(ctx, n.Name); err != nil {
				return false, err
			}
		}
	}
	return false, nil
}

// giveUp makes sure that a former run publishes nothing any more, unless it has, and removes what it has left.
func (r *run) giveUp(ctx context.Context, n named) error {
	created, err := r.Target.Create(ctx, r.path(backups, n.name), nil)
	if err != nil {
		return err
	}
	if created {
		r.Logger.Warn("a run of the backup that did not end was given up", "run", n.name)
	}
	return r.Target.Delete(ctx, n.Name)
}

// orphans removes parts of backups that have no record: their runs were given up, or died while they removed the backup.
func (r *run) orphans(ctx context.Context) error {
	there, _, err := r.published(ctx)
	if err != nil {
		return err
	}
	has := map[string]bool{}
	for _, n := range there {
		has[n.name] = true
	}
	for _, folder := range []string{states, lists} {
		parts, err := r.names(ctx, folder)
		if err != nil {
			return err
		}
		for _, n := range parts {
			if has[n.name] || n.token >= r.Token {
				continue
			}
			if err := r.Target.Delete(ctx, n.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// needed reads which blobs the backups name.
func (r *run) needed(ctx context.Context) (map[key]bool, error) {
	there, _, err := r.published(ctx)
	if err != nil {
		return nil, err
	}
	all := map[key]bool{}
	for i, n := range there {
		if err := r.Progress("lists", int64(i)); err != nil {
			return nil, err
		}
		in, err := r.Target.Get(ctx, r.path(lists, n.name))
		if errors.Is(err, target.ErrNotThere) && !r.still(ctx, n) {
			continue // another run has removed it
		}
		if err != nil {
			return nil, fmt.Errorf("backup %s: %w", n.name, err)
		}
		err = readList(paced{ctx, in, r.Pace}, func(x stored) error { all[x.key] = true; return nil })
		if err = errors.Join(err, in.Close()); err != nil {
			return nil, fmt.Errorf("backup %s: %w", n.name, err)
		}
	}
	return all, nil
}

// still reports whether a backup is there yet.
func (r *run) still(ctx context.Context, n named) bool {
	_, err := r.Series.entry(ctx, n.name)
	return !errors.Is(err, target.ErrNotThere)
}

// sentence deletes the blobs of a list that nothing needs, if the list is ripe, and then the list.
func (r *run) sentence(ctx context.Context, n named, ripe bool, needed, known map[key]bool) error {
	keys, err := r.readCondemned(ctx, n)
	if err != nil {
		return err
	}
	if !ripe {
		for _, k := range keys {
			known[k] = true
		}
		return nil
	}
	deleted := 0
	for i, k := range keys {
		if needed[k] {
			continue
		}
		if i%100 == 0 {
			if err := errors.Join(r.Alive(ctx), r.Progress("delete", int64(deleted))); err != nil {
				return err
			}
		}
		if err := r.Target.Delete(ctx, r.path(blobs, k.object())); err != nil {
			return err
		}
		deleted++
	}
	r.Logger.Info("blobs that no backup needs were removed from the target", "blobs", deleted)
	return r.Target.Delete(ctx, n.Name)
}

// condemn lists the blobs that nothing needs and that are in no list. A later run deletes them; no run that begins from now on counts on them.
func (r *run) condemn(ctx context.Context, needed, known map[key]bool) error {
	var text strings.Builder
	err := r.keys(ctx, func(k key, _ target.Object) error {
		if !needed[k] && !known[k] && k.token < r.Token {
			fmt.Fprintln(&text, k)
		}
		return nil
	})
	if err != nil || text.Len() == 0 {
		return err
	}
	return r.put(ctx, condemned, []byte(text.String()))
}

// condemnedKeys are the keys in all lists.
func (r *run) condemnedKeys(ctx context.Context) (map[key]bool, error) {
	there, err := r.names(ctx, condemned)
	if err != nil {
		return nil, err
	}
	all := map[key]bool{}
	for _, n := range there {
		keys, err := r.readCondemned(ctx, n)
		if err != nil {
			return nil, err
		}
		for _, k := range keys {
			all[k] = true
		}
	}
	return all, nil
}

// readCondemned reads a list of condemned blobs. A list that was removed meanwhile has no keys: its blobs are gone.
func (r *run) readCondemned(ctx context.Context, n named) (keys []key, err error) {
	in, err := r.Target.Get(ctx, n.Name)
	if errors.Is(err, target.ErrNotThere) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		k, ok := parseKey(lines.Text())
		if !ok {
			err = fmt.Errorf("%w: %s names no blob: %.80q", backup.ErrDamaged, n.Name, lines.Text())
			break
		}
		keys = append(keys, k)
	}
	return keys, errors.Join(err, lines.Err(), in.Close())
}
