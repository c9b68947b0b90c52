package sim

import (
	"fmt"
	"maps"
	"slices"

	"github.com/taskrt/taskrt/task"
)

// compareUpkeep compares the records of blobs and of runs of maintenance, and how long things are kept.
func (r *Run) compareUpkeep() error {
	m := r.replicas[0].m
	var real []*task.Blob
	for b := range m.Blobs("") {
		real = append(real, b)
	}
	for i, digest := range slices.Sorted(maps.Keys(r.model.Blobs)) {
		want := r.model.Blobs[digest]
		if i >= len(real) {
			return fmt.Errorf("blob %s: missing", digest)
		}
		if d := diff("", real[i], want); d != "" {
			return fmt.Errorf("blob %s: %s", digest, d)
		}
		if refs := r.model.Refs(digest); real[i].Refs != refs {
			return fmt.Errorf("blob %s is needed %d times, want %d", digest, real[i].Refs, refs)
		}
		if d := diff("", m.Blob(digest), want); d != "" || m.BlobReady(digest) != want.Ready {
			return fmt.Errorf("blob %s read: %s, ready: %v", digest, d, m.BlobReady(digest))
		}
	}
	if len(real) != len(r.model.Blobs) {
		return fmt.Errorf("%d blobs, want %d", len(real), len(r.model.Blobs))
	}
	runs := m.MaintenanceRuns()
	slices.Reverse(runs)
	if len(runs) != len(r.model.Runs) {
		return fmt.Errorf("%d runs of maintenance, want %d", len(runs), len(r.model.Runs))
	}
	for i := range runs {
		if d := diff("", runs[i], &r.model.Runs[i]); d != "" {
			return fmt.Errorf("run %d of maintenance: %s", runs[i].Run, d)
		}
	}
	for k := range r.model.Behaviors {
		success, failure, count := m.Retention(k.Namespace, k.ID)
		if s, f, c := r.model.Keep(k); s != success || f != failure || c != count {
			return fmt.Errorf("of %v %d, %d and %d are kept, want %d, %d and %d", k, success, failure, count, s, f, c)
		}
	}
	return nil
}

// compareBlobEvents checks that nodes are told what they may refer to, and what they must unlink.
func (r *Run) compareBlobEvents(events []task.Event) error {
	noted, dropped := map[string]bool{}, map[string]bool{}
	for _, e := range events {
		for _, d := range e.Digests {
			if e.Kind == task.BlobNoted {
				noted[d] = true
			} else {
				dropped[d] = true
			}
		}
	}
	for digest, b := range r.model.Blobs {
		if b.Ready && !r.history.ready[digest] && !noted[digest] {
			return fmt.Errorf("no event for the blob %s", digest)
		}
	}
	if !maps.Equal(dropped, r.model.Dropped) {
		return fmt.Errorf("blobs dropped: %v, want %v", dropped, r.model.Dropped)
	}
	return nil
}
