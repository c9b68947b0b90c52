package sim

import (
	"bytes"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/wire"
)

// replica is one real machine. Replica 0 is fed directly; the others get each entry in its wire form.
type replica struct {
	number int

	unchecked bool
	m         *task.Machine
	frozen    *task.Frozen
	since     []entry // what was applied after frozen
}

type entry struct {
	h  task.Header
	ps []task.Proposal
}

// levels is how many entries raise the cluster to the feature level that this build knows. They come first, so that the
// simulator makes every command, and the model need not know of levels.
const levels = task.KnownLevel - task.FirstLevel

func newReplica(number int) *replica {
	limits := task.Limit{
		ProcessIdle: processIdle, Keys: clientKeys, Finals: finals, Sweep: sweep, Namespaces: spaceLimit, Steps: stepLimit, Cleanups: cleanups,
	}
	r := &replica{number: number, m: task.NewMachine(task.WithLimit(limits), task.WithAudit(auditBounds))}
	for i := range levels {
		r.m.Apply(task.Header{Index: i + 1}, []task.Proposal{{Command: task.RaiseLevel{Level: task.FirstLevel + i + 1}}})
	}
	return r
}

func (r *replica) apply(h task.Header, ps []task.Proposal) ([]task.Result, []task.Event, error) {
	if r.number > 0 {
		b, err := wire.EncodeEntry(h, ps)
		if err != nil {
			return nil, nil, err
		}
		h2, ps2, err := wire.DecodeEntry(b)
		if err != nil {
			return nil, nil, err
		}
		h2.Index, h2.Term = h.Index, h.Term // the log knows them
		h, ps = h2, ps2
	}
	if r.frozen != nil {
		r.since = append(r.since, entry{h, ps})
	}
	rs, es := r.m.Apply(h, ps)
	if len(rs) != len(ps) {
		return nil, nil, fmt.Errorf("%d results for %d proposals", len(rs), len(ps))
	}
	if r.unchecked {
		return rs, es, nil
	}
	return rs, es, r.m.Check()
}

// freeze takes a snapshot that is written only at thaw, when the machine has gone on.
func (r *replica) freeze() { r.frozen, r.since = r.m.Freeze(), nil }

// thaw restarts the replica from its snapshot and replays the log.
func (r *replica) thaw() error {
	if r.frozen == nil {
		r.freeze()
	}
	var b bytes.Buffer
	if err := wire.WriteSnapshot(&b, r.frozen); err != nil {
		return err
	}
	m, err := wire.ReadSnapshot(&b, task.WithAudit(auditBounds))
	if err != nil {
		return err
	}
	if b.Len() != 0 {
		return errors.New("bytes left after the snapshot")
	}
	if err := m.Check(); err != nil {
		return fmt.Errorf("restored: %w", err)
	}
	for _, e := range r.since {
		m.Apply(e.h, e.ps)
	}
	if got, want := m.Digest(), r.m.Digest(); got != want {
		return fmt.Errorf("restored and replayed: digest %v, want %v", got, want)
	}
	r.m, r.frozen, r.since = m, nil, nil
	return nil
}

// sameReplica compares digests, results and events of two replicas.
func sameReplica(a, b *replica, ra, rb []task.Result, ea, eb []task.Event) error {
	if a.m.Digest() != b.m.Digest() {
		return fmt.Errorf("digests %v and %v", a.m.Digest(), b.m.Digest())
	}
	wa, err := wire.EncodeResults(ra)
	if err != nil {
		return err
	}
	wb, err := wire.EncodeResults(rb)
	if err != nil {
		return err
	}
	if !bytes.Equal(wa, wb) {
		return errors.New("results: " + diff("", ra, rb))
	}
	back, err := wire.DecodeResults(wa)
	if err != nil {
		return err
	}
	if d := diff("", ra, back); d != "" {
		return errors.New("results after EncodeResults and DecodeResults: " + d)
	}
	if d := diff("", ea, eb); d != "" {
		return errors.New("events: " + d)
	}
	return nil
}

func stack() string { return string(debug.Stack()) }

// allTasks returns every record.
func allTasks(m *task.Machine) []*task.Task {
	var all []*task.Task
	f := task.Filter{Limit: 7} // small: pages are tested, too
	for {
		ts, next := m.Tasks(f)
		all = append(all, ts...)
		if next == 0 {
			return all
		}
		f.After = next
	}
}

// namespaces are all namespaces that there may be; others are the namespaces that come and go.
var (
	others     = []string{"blue-team", "red-team", "yellow-team"}
	namespaces = append([]string{task.DefaultNamespace, task.SystemNamespace}, others...)
)

// allRecords returns every record of the TaskStore, by namespace, group and ID.
func allRecords(m *task.Machine) []*task.StoreRecord {
	var all []*task.StoreRecord
	for _, ns := range namespaces {
		for _, group := range m.StoreGroups(ns) {
			all = append(all, slices.Collect(m.StoreRecords(ns, group, true, m.Now()))...)
		}
	}
	return all
}
