package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode"
)

// job is four kinds of groups. Together they always say exactly what is left to do:
//
//	NAME/map        a task for every part of a file that is not counted yet
//	NAME/shuffle/P  what the finished map tasks found, of the words that belong to reducer P
//	NAME/reduce     a task for every P whose sums are not made yet
//	NAME/result     the sums that are made
//
// Each step from one group to the next is a single update: it deletes the finished task and adds its outcome, all or
// nothing. A worker that dies leaves nothing behind but a claim that ends. A worker that was too slow finds the ID of its
// task gone, because another worker has claimed the task since, and its update does nothing: no part is counted twice.
type job struct {
	store *store
	name  string
	lease time.Duration
	rest  time.Duration
	out   io.Writer
}

func (j *job) group(parts ...string) string {
	return strings.Join(append([]string{j.name}, parts...), "/")
}

// mapTask is the data of a map task: the part of a file that it counts.
type mapTask struct {
	File   string `json:"file"`
	Offset int64  `json:"offset"`
	Length int64  `json:"length"`
	Reduce int    `json:"reduce"` // number of reducers
}

// reduceTask is the data of a reduce task.
type reduceTask struct {
	Reducer int `json:"reducer"`
}

// poll is how often a process that waits for others looks again.
const poll = 50 * time.Millisecond

// count is the coordinator: it puts all tasks into the store at once, waits until the workers have done them, and takes
// out the result. If the coordinator dies, the job goes on.
func (j *job) count(ctx context.Context, files []string, split int64, reducers int) (map[string]int64, error) {
	var tasks []task
	for _, file := range files {
		parts, err := splitFile(file, split, reducers)
		if err != nil {
			return nil, err
		}
		for _, p := range parts {
			tasks = append(tasks, task{Group: j.group("map"), Data: text(p)})
		}
	}
	for p := range reducers {
		tasks = append(tasks, task{Group: j.group("reduce"), Data: text(reduceTask{p})})
	}
	// The one update that could happen twice: it depends on nothing. Hence the key.
	if _, err := j.store.update(ctx, update{Adds: tasks}, fmt.Sprintf("%s-%x", j.name, randomBits())); err != nil {
		return nil, err
	}
	if err := j.waitEmpty(ctx, j.group("reduce")); err != nil {
		return nil, err
	}
	return j.takeResult(ctx)
}

// splitFile cuts a file into parts of about size bytes, at the ends of lines.
func splitFile(name string, size int64, reducers int) ([]mapTask, error) {
	name, err := filepath.Abs(name) // for workers with another working directory
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var parts []mapTask
	for from := int64(0); from < int64(len(content)); {
		to := min(from+size, int64(len(content)))
		for to < int64(len(content)) && content[to-1] != '\n' {
			to++
		}
		parts = append(parts, mapTask{File: name, Offset: from, Length: to - from, Reduce: reducers})
		from = to
	}
	return parts, nil
}

func (j *job) waitEmpty(ctx context.Context, group string) error {
	for {
		left, err := j.store.list(ctx, group, 1, true)
		if err != nil || len(left) == 0 {
			return err
		}
		if err := pause(ctx, poll); err != nil {
			return err
		}
	}
}

func (j *job) takeResult(ctx context.Context) (map[string]int64, error) {
	results, err := j.store.list(ctx, j.group("result"), 0, true)
	if err != nil {
		return nil, err
	}
	counts := map[string]int64{}
	var read update
	for _, r := range results {
		if err := addCounts(counts, r.Data); err != nil {
			return nil, err
		}
		read.Deletes = append(read.Deletes, r.ID)
	}
	if len(read.Deletes) == 0 {
		return counts, nil
	}
	_, err = j.store.update(ctx, read, "")
	if already := (refused)(nil); errors.As(err, &already) {
		err = nil // the first try has done it, only its answer was lost
	}
	return counts, err
}

// work does tasks until ctx ends.
func (j *job) work(ctx context.Context) error {
	for {
		done, err := j.one(ctx, "map", j.mapPart)
		if err == nil && !done {
			if done, err = j.mapped(ctx); done && err == nil {
				done, err = j.one(ctx, "reduce", j.reduce)
			}
		}
		if err == nil && !done {
			err = pause(ctx, poll)
		}
		if err != nil {
			return err
		}
	}
}

// mapped reports whether there is no map task, not even one that somebody works on.
func (j *job) mapped(ctx context.Context) (bool, error) {
	left, err := j.store.list(ctx, j.group("map"), 1, true)
	return len(left) == 0, err
}

// one claims a task of a kind and does it; it returns false if no task can be done now. f returns the outcome of the task,
// or nil if the task cannot be done yet.
func (j *job) one(ctx context.Context, kind string, f func(context.Context, *task) (*update, error)) (bool, error) {
	t, err := j.store.claim(ctx, j.group(kind), j.lease)
	if err != nil || t == nil {
		return false, err
	}
	fmt.Fprintln(j.out, "claimed", kind, t.Data)
	result, last, err := j.hold(ctx, t, f)
	if err == nil {
		step := update{Updates: []task{{ID: last.ID, Data: last.Data}}} // not yet: it is available again at once
		if result != nil {
			step = update{Adds: result.Adds, Deletes: append(result.Deletes, last.ID)}
		}
		_, err = j.store.update(ctx, step, "")
	}
	var lost refused
	switch {
	case errors.As(err, &lost):
		// The claim was over, and another worker has the task. Or our update did happen, its answer was lost, and it was
		// sent again. Either way there is nothing more to do.
		fmt.Fprintln(j.out, "gone", kind, t.Data)
		return true, nil
	case err != nil || result == nil:
		return false, err
	}
	fmt.Fprintln(j.out, "done", kind, t.Data)
	return true, nil
}

// hold runs f and renews the claim meanwhile, at thirds of its time. A renewal makes a new task in the place of the old
// one; hold returns the last of them. If the claim is lost, f's context ends, and the error is a refused.
func (j *job) hold(ctx context.Context, t *task, f func(context.Context, *task) (*update, error)) (result *update, last *task, err error) {
	working, stopWork := context.WithCancel(ctx)
	defer stopWork()
	renewing, stopRenewing := context.WithCancel(ctx)
	defer stopRenewing()
	var lost error
	last = t
	var renewer sync.WaitGroup
	renewer.Go(func() {
		for pause(renewing, j.lease/3) == nil {
			made, err := j.store.update(ctx, update{Updates: []task{{ID: last.ID, Data: last.Data, Timespec: -j.lease.Milliseconds()}}}, "")
			if err != nil {
				lost = err
				stopWork()
				return
			}
			last = &made[0]
		}
	})
	result, err = f(working, t)
	if err == nil && result != nil {
		err = pause(working, j.rest)
	}
	stopRenewing()
	renewer.Wait()
	if lost != nil {
		return nil, nil, lost
	}
	return result, last, err
}

// mapPart counts the words of a part of a file: one task for every reducer that has some of them.
func (j *job) mapPart(_ context.Context, t *task) (*update, error) {
	var m mapTask
	if err := json.Unmarshal([]byte(t.Data), &m); err != nil {
		return nil, err
	}
	file, err := os.Open(m.File)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.NewSectionReader(file, m.Offset, m.Length))
	if err != nil {
		return nil, err
	}
	found := make([]map[string]int64, m.Reduce)
	for _, word := range words(string(content)) {
		h := fnv.New32a()
		h.Write([]byte(word))
		p := int(h.Sum32() % uint32(m.Reduce))
		if found[p] == nil {
			found[p] = map[string]int64{}
		}
		found[p][word]++
	}
	result := &update{}
	for p, counts := range found {
		if counts != nil {
			result.Adds = append(result.Adds, task{Group: j.group("shuffle", fmt.Sprint(p)), Data: text(counts)})
		}
	}
	return result, nil
}

// words are the runs of letters and digits, in lower case.
func words(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// reduce adds up what all map tasks found of a reducer's words. It looks again whether the map tasks are done, now that it holds a
// reduce task: the reduce tasks were put into the store together with all map tasks, so the map tasks of this job are
// gone. Before, there may have been no job.
func (j *job) reduce(ctx context.Context, t *task) (*update, error) {
	if done, err := j.mapped(ctx); err != nil || !done {
		return nil, err
	}
	var r reduceTask
	if err := json.Unmarshal([]byte(t.Data), &r); err != nil {
		return nil, err
	}
	parts, err := j.store.list(ctx, j.group("shuffle", fmt.Sprint(r.Reducer)), 0, true)
	if err != nil {
		return nil, err
	}
	counts, result := map[string]int64{}, &update{}
	for _, p := range parts {
		if err := addCounts(counts, p.Data); err != nil {
			return nil, err
		}
		result.Deletes = append(result.Deletes, p.ID)
	}
	result.Adds = []task{{Group: j.group("result"), Data: text(counts)}}
	return result, nil
}

func addCounts(counts map[string]int64, data string) error {
	var more map[string]int64
	if err := json.Unmarshal([]byte(data), &more); err != nil {
		return err
	}
	for word, n := range more {
		counts[word] += n
	}
	return nil
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // numbers and strings
	}
	return string(b)
}

// pause waits, or returns the error of a context that ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
