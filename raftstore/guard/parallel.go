package guard

import (
	"errors"
	"math"
	"sync"

	"github.com/hashicorp/raft"
)

// parallelLog lets a leader write its log while its followers write theirs (Raft thesis, 10.2.1; SPEC T6 asks for a majority, each with
// fsync). So a commit takes the time of one durable write, not two. The library writes its own log first: it takes an entry for stored once
// StoreLogs returns, counts the leader for the majority, and only then sends the entry. Here StoreLogs returns at once. Everything that
// follows from the entry being stored waits until it is:
//
//   - Applying it, and so every answer, event and read. fsm.Apply waits. What raft takes for committed was counted with the leader, so a
//     majority has it once the leader has it.
//   - Telling followers of the commit, which they would apply. transport and pipeline never name an index beyond durable.
//   - A promise to another leader. Raft acknowledges, without storing them, entries that the log has already. So a node that leads no more
//     finds no entry that is not durable: GetLog waits.
//   - Whatever is not a command: members, no-ops and barriers, and what a follower is sent. These entries are stored before StoreLogs
//     returns, and so is everything before them.
//
// What a crash takes away had no consequence: no majority was counted with it whose commit anybody knew of. While the process lives its log
// is what is in memory, also for votes. That refuses candidates that have less, and may win an election. The new term's no-op is stored at
// once, so that nothing older is pending when the term begins to count. Only raft's main goroutine makes the node lead or cease to lead,
// because the heartbeat fast path is off (transport). And no follower's answer to a request without entries counts for anything.
type parallelLog struct {
	raft.LogStore             // the disk, and a cache
	leads         func() bool // whether raft leads; it changes only when raft's own goroutine changes the state

	mu      sync.Mutex
	pending []*raft.Log   // the end of the log that is not durable yet, in order and without holes
	bytes   int           // of pending
	err     error         // of the write that failed: no further write is tried, and the node stops
	moved   chan struct{} // closed and replaced when pending gets shorter, or err is set
	added   chan struct{} // capacity 1: pending has got longer
	stop    chan struct{}
	ended   chan struct{}
}

// maxPending is how many bytes may wait for the leader's disk before the library waits for it, too.
const maxPending = 8 << 20

var errLogClosed = errors.New("raftstore: the log is closed")

func newParallelLog(s raft.LogStore, leads func() bool) *parallelLog {
	l := &parallelLog{
		LogStore: s, leads: leads,
		moved: make(chan struct{}), added: make(chan struct{}, 1), stop: make(chan struct{}), ended: make(chan struct{}),
	}
	go l.run()
	return l
}

// close writes what is pending, unless a write has failed or the log was abandoned. Then it ends.
func (l *parallelLog) close() {
	close(l.stop)
	<-l.ended
}

// abandon ends all waiting, and takes nothing more: the node stops as if it had died. Nobody was promised the pending
// entries.
func (l *parallelLog) abandon(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = err
		l.progress()
	}
}

// run writes what is pending, all of it at a time.
func (l *parallelLog) run() {
	defer close(l.ended)
	for stopping := false; !stopping; {
		select {
		case <-l.added:
		case <-l.stop:
			stopping = true
		}
		for l.write() {
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = errLogClosed
	}
	l.progress()
}

// write writes what is pending now. It returns false if nothing is pending, or if it cannot be written.
func (l *parallelLog) write() bool {
	l.mu.Lock()
	batch := l.pending
	failed := l.err != nil
	l.mu.Unlock()
	if len(batch) == 0 || failed {
		return false
	}
	err := l.LogStore.StoreLogs(batch)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = err
	}
	if err == nil {
		for i, e := range batch {
			l.bytes -= len(e.Data)
			batch[i] = nil
		}
		if l.pending = l.pending[len(batch):]; len(l.pending) == 0 {
			l.pending = nil
		}
	}
	l.progress()
	return err == nil
}

// progress wakes the goroutines that wait, under mu.
func (l *parallelLog) progress() {
	close(l.moved)
	l.moved = make(chan struct{})
}

// StoreLog implements raft.LogStore.
func (l *parallelLog) StoreLog(e *raft.Log) error { return l.StoreLogs([]*raft.Log{e}) }

// StoreLogs implements raft.LogStore.
func (l *parallelLog) StoreLogs(es []*raft.Log) error {
	bytes := 0
	later := l.leads()
	for _, e := range es {
		later = later && e.Type == raft.LogCommand
		bytes += len(e.Data)
	}
	l.mu.Lock()
	if err := l.err; err != nil {
		l.mu.Unlock()
		return err
	}
	if later && (l.bytes == 0 || l.bytes+bytes <= maxPending) {
		l.pending = append(l.pending, es...)
		l.bytes += bytes
		l.mu.Unlock()
		wake(l.added)
		return nil
	}
	l.mu.Unlock()
	if err := l.flush(); err != nil {
		return err
	}
	err := l.LogStore.StoreLogs(es)
	if err != nil {
		l.abandon(err)
	}
	return err
}

// GetLog implements raft.LogStore. A leader sends entries that it has not written yet. Whatever else raft does with an
// entry needs the entry to be durable.
func (l *parallelLog) GetLog(index uint64, e *raft.Log) error {
	l.mu.Lock()
	p := l.find(index)
	l.mu.Unlock()
	if p != nil {
		if l.leads() {
			*e = *p
			return nil
		}
		if err := l.wait(index); err != nil {
			return err
		}
	}
	return l.LogStore.GetLog(index, e)
}

// find looks for an entry in what is pending, under mu.
func (l *parallelLog) find(index uint64) *raft.Log {
	if len(l.pending) == 0 || index < l.pending[0].Index {
		return nil
	}
	if at := index - l.pending[0].Index; at < uint64(len(l.pending)) {
		return l.pending[at]
	}
	return nil
}

// FirstIndex implements raft.LogStore.
func (l *parallelLog) FirstIndex() (uint64, error) {
	first, err := l.LogStore.FirstIndex()
	if err == nil && first == 0 {
		if err = l.flush(); err == nil {
			first, err = l.LogStore.FirstIndex()
		}
	}
	return first, err
}

// LastIndex implements raft.LogStore. It looks first at what is pending, and at the disk only if nothing is: an entry
// becomes durable before it ceases to be pending. The other way round, an entry that becomes durable between the two
// looks is in neither.
func (l *parallelLog) LastIndex() (uint64, error) {
	if last := l.lastPending(); last > 0 {
		return last, nil
	}
	return l.LogStore.LastIndex()
}

// lastPending returns the index of the last entry that is pending, or 0.
func (l *parallelLog) lastPending() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.pending); n > 0 {
		return l.pending[n-1].Index
	}
	return 0
}

// DeleteRange implements raft.LogStore.
func (l *parallelLog) DeleteRange(first, last uint64) error {
	if err := l.flush(); err != nil {
		return err
	}
	return l.LogStore.DeleteRange(first, last)
}

// flush returns once everything that is pending now is durable.
func (l *parallelLog) flush() error { return l.wait(math.MaxUint64) }

// wait returns once the log is durable up to index, or up to its present end. It returns the error of a write that
// failed, or errLogClosed.
func (l *parallelLog) wait(index uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.pending); n > 0 {
		index = min(index, l.pending[n-1].Index)
	}
	for len(l.pending) > 0 && l.pending[0].Index <= index {
		if l.err != nil {
			return l.err
		}
		moved := l.moved
		l.mu.Unlock()
		<-moved
		l.mu.Lock()
	}
	return nil
}

// durable returns the index up to which the whole log is durable: nobody may be told of a commit beyond it.
func (l *parallelLog) durable() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.pending) > 0 {
		return l.pending[0].Index - 1
	}
	return math.MaxUint64
}
