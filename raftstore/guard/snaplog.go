package guard

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// A follower that installs a snapshot must forget its log, unless the log has the snapshot's last entry (raft paper, figure 13, rules 6 and 7). The
// library keeps the log, and this log may never have been committed:
//  - If the log reaches to the snapshot's end, with an entry of another term there, the follower refuses all that comes after the snapshot,
//    gets the snapshot again, and so on for ever (raft #697).
//  - If the log ends before the snapshot's end, the next entries leave a hole behind it. As a leader this node would send others what is
//    before the hole, and tell them that it is committed. raft-wal takes no entry after a hole.
//
// What the library has of the log in memory, its last index and term, follows only from AppendEntries. So once the snapshot is durable and
// restored, the follower sends itself an AppendEntries, as if from the leader that the snapshot came from. It has one entry, with the
// snapshot's last index and term, and none precedes it. The library removes what conflicts with the entry, and "stores" it; that is where
// snapLog empties the log. Then it goes on from there. If the log has the snapshot's last entry the library does nothing. A node that dies
// before its log is empty finds that out when it starts (agreeAtStart).

// atSnapshot marks the entry that stands for an installed snapshot. No log ever has it.
const atSnapshot = "taskrt: as of the snapshot"

// snapLog is the log as raft sees it. If a snapshot is installed to which the log does not lead, it begins anew behind the snapshot. It also knows
// the term of the entry before its first. A leader that has lost the answers goes on from this entry again. The library would refuse this, although
// its own snapshot ends there, because it asks only the log for the term.
//
// Nothing but a snapshot on disk allows an entry to be missing. Without such a snapshot snapLog stops the node, rather
// than forget the log, or lead with a log that it cannot send.
type snapLog struct {
	raft.LogStore
	snaps      raft.SnapshotStore
	fail       func(error)              // stops the node; does not block
	readable   func(io.Reader) error    // why a snapshot cannot be restored
	installing atomic.Uint64            // end of the latest snapshot that a leader has sent
	before     atomic.Pointer[raft.Log] // index and term of the entry before the first
}

// GetLog implements raft.LogStore. For the entry before the first it returns an index and a term. That entry is never
// sent to anybody, because to send it raft would need the entry before it; entry 1 has none before it.
func (l *snapLog) GetLog(index uint64, e *raft.Log) error {
	err := l.LogStore.GetLog(index, e)
	if before := l.before.Load(); errors.Is(err, raft.ErrLogNotFound) && before != nil && before.Index == index && index > 1 {
		*e = *before
		return nil
	}
	if errors.Is(err, raft.ErrLogNotFound) && index > 0 {
		if lost := l.lost(index); lost != nil {
			return lost
		}
	}
	return err
}

// lost stops the node if an entry that is not in the log should be there: it is before the first entry, and no snapshot
// reaches up to it. An entry behind the last one may be missing: it is not there yet, or was removed because it was
// never committed.
func (l *snapLog) lost(index uint64) error {
	first, err := l.FirstIndex()
	if err != nil || first == 0 || index >= first {
		return err
	}
	covered, err := l.covered(index)
	if covered || err != nil {
		return err
	}
	return l.incomplete("it begins at entry %d, and no snapshot has entry %d", first, index)
}

// covered reports whether there is a snapshot that reaches up to index.
func (l *snapLog) covered(index uint64) (bool, error) {
	metas, err := l.snaps.List() // newest first
	if err != nil {
		return false, fmt.Errorf("raftstore: list snapshots: %w", err)
	}
	return len(metas) > 0 && metas[0].Index >= index, nil
}

// incomplete stops the node.
func (l *snapLog) incomplete(format string, args ...any) error {
	err := fmt.Errorf("%w: "+format, append([]any{errLogIncomplete}, args...)...)
	l.fail(err)
	return err
}

func (l *snapLog) startsAfter(index, term uint64) {
	l.before.Store(&raft.Log{Index: index, Term: term, Type: raft.LogNoop})
}

// DeleteRange implements raft.LogStore. Raft compacts the log right after it has installed a snapshot. The entry at the
// snapshot's end stays: without it, entries that conflict with the snapshot would look like its continuation.
func (l *snapLog) DeleteRange(first, last uint64) error {
	end, err := l.LastIndex()
	if err != nil {
		return err
	}
	if last == l.installing.Load() && last < end {
		last--
	}
	if last < end { // a prefix
		var e raft.Log
		if err := l.LogStore.GetLog(last, &e); err == nil {
			l.startsAfter(last, e.Term)
		}
	}
	return l.LogStore.DeleteRange(first, last)
}

// StoreLog implements raft.LogStore.
func (l *snapLog) StoreLog(e *raft.Log) error { return l.StoreLogs([]*raft.Log{e}) }

// StoreLogs implements raft.LogStore.
func (l *snapLog) StoreLogs(es []*raft.Log) error {
	if len(es) > 0 && string(es[0].Extensions) == atSnapshot {
		l.startsAfter(es[0].Index, es[0].Term)
		return l.empty()
	}
	last, err := l.LastIndex()
	if err != nil {
		return err
	}
	if len(es) > 0 && last > 0 && es[0].Index > last+1 {
		covered, err := l.covered(es[0].Index - 1)
		if err != nil {
			return err
		}
		if !covered {
			return l.incomplete("entry %d would follow entry %d, and no snapshot has what is between", es[0].Index, last)
		}
		if err := l.empty(); err != nil {
			return err
		}
	}
	return l.LogStore.StoreLogs(es)
}

func (l *snapLog) empty() error {
	first, err := l.FirstIndex()
	if err != nil {
		return err
	}
	last, err := l.LastIndex()
	if err != nil || last == 0 {
		return err
	}
	return l.DeleteRange(first, last)
}

// begin runs agreeAtStart, and tells the log what precedes it. It refuses a node whose log was taken away and whose
// snapshots were not: such a node has forgotten whom it voted for.
func (l *snapLog) begin(variables raft.StableStore, log *slog.Logger) error {
	if err := l.agreeAtStart(log); err != nil {
		return err
	}
	metas, err := l.snaps.List()
	if err != nil || len(metas) == 0 {
		return err
	}
	term, err := variables.GetUint64([]byte(currentTerm))
	if term < metas[0].Term {
		return fmt.Errorf("%w: its term is %d, that of the newest snapshot %d", errors.Join(errLogIncomplete, err), term, metas[0].Term)
	}
	l.startsAfter(metas[0].Index, metas[0].Term)
	return nil
}

// agreeAtStart makes the log of a node that starts agree with its newest snapshot, if the node died before it did. It
// refuses a log that does not go on where the snapshot ends: entries are missing.
func (l *snapLog) agreeAtStart(log *slog.Logger) error {
	logs := l.LogStore
	metas, err := l.snaps.List()
	if err != nil {
		return fmt.Errorf("raftstore: list snapshots: %w", err)
	}
	snap := &raft.SnapshotMeta{}
	if len(metas) > 0 {
		snap = metas[0]
	}
	first, err := logs.FirstIndex()
	if err != nil {
		return fmt.Errorf("raftstore: read log: %w", err)
	}
	last, err := logs.LastIndex()
	if err != nil {
		return fmt.Errorf("raftstore: read log: %w", err)
	}
	switch {
	case last == 0 || first == snap.Index+1:
		return nil
	case first > snap.Index+1:
		return fmt.Errorf("%w: it begins at entry %d, and the newest snapshot ends at %d", errLogIncomplete, first, snap.Index)
	}
	until := last
	if last >= snap.Index {
		var e raft.Log
		err := logs.GetLog(snap.Index, &e)
		if err == nil && e.Term == snap.Term {
			return nil
		}
		if errors.Is(err, raft.ErrLogNotFound) {
			until = snap.Index // an earlier version has left the hole; what is behind the hole is good
		} else if err != nil {
			return fmt.Errorf("raftstore: read log: %w", err)
		}
	}
	if err := l.restorable(snap.ID); err != nil {
		// Raft takes the snapshot before this one, and the whole log belongs to that.
		log.Warn("the newest snapshot is damaged", "snapshot", snap.ID, "err", err)
		return nil
	}
	log.Info("the log is not that of the newest snapshot: removing it", "snapshot", snap.ID, "from", first, "to", until)
	return logs.DeleteRange(first, until)
}

var errLogIncomplete = errors.New("raftstore: the log is incomplete")

// restorable returns why a snapshot cannot be restored, or nil.
func (l *snapLog) restorable(id string) error {
	_, r, err := l.snaps.Open(id)
	if err != nil {
		return err
	}
	defer r.Close()
	return l.readable(r)
}

// installs stands between the network and raft. After each snapshot that was installed it adds the request that makes
// the log agree with the snapshot.
type installs struct {
	in      <-chan raft.RPC
	out     chan raft.RPC
	log     *snapLog
	yields  *yields
	holders *holders
	done    chan struct{}
	once    sync.Once
	wg      sync.WaitGroup
}

func newInstalls(in <-chan raft.RPC, log *snapLog, y *yields, h *holders) *installs {
	i := &installs{holders: h, in: in, out: make(chan raft.RPC), log: log, yields: y, done: make(chan struct{})}
	i.wg.Go(i.relay)
	return i
}

func (i *installs) relay() {
	for {
		select {
		case rpc := <-i.in:
			if err := deposed(rpc.Command); err != nil {
				i.wg.Go(func() { refuse(rpc, err) })
				continue
			}
			i.holders.heard(rpc.Command)
			if req, ok := rpc.Command.(*raft.InstallSnapshotRequest); ok {
				i.wg.Go(func() { i.install(rpc, req) })
				continue
			}
			if _, ok := rpc.Command.(*raft.TimeoutNowRequest); ok {
				if err := i.yields.stands(); err != nil { // raft would raise its term, and then nobody would vote for it
					rpc.Respond(&raft.TimeoutNowResponse{}, err)
					continue
				}
			}
			i.hand(rpc, nil)
		case <-i.done:
			return
		}
	}
}

// hand gives a request to raft, unless raft has not taken it before late fires (nil: never).
func (i *installs) hand(rpc raft.RPC, late <-chan time.Time) {
	select {
	case i.out <- rpc:
	case <-late:
	case <-i.done:
	}
}

// ask gives a request to raft and waits for the answer. It returns false if the node ends.
func (i *installs) ask(command any, r io.Reader) (raft.RPCResponse, bool) {
	answers := make(chan raft.RPCResponse, 1)
	i.hand(raft.RPC{Command: command, Reader: r, RespChan: answers}, nil)
	select {
	case a := <-answers:
		return a, true
	case <-i.done:
		return raft.RPCResponse{}, false
	}
}

func (i *installs) install(rpc raft.RPC, req *raft.InstallSnapshotRequest) {
	i.log.installing.Store(req.LastLogIndex)
	answer, ok := i.ask(req, rpc.Reader)
	if !ok {
		return
	}
	if resp, ok := answer.Response.(*raft.InstallSnapshotResponse); ok && answer.Error == nil && resp.Success {
		// If raft refuses it, there is another leader, which will send its own snapshot.
		i.ask(&raft.AppendEntriesRequest{
			RPCHeader: req.RPCHeader, Term: req.Term,
			Entries: []*raft.Log{{Index: req.LastLogIndex, Term: req.LastLogTerm, Type: raft.LogNoop, Extensions: []byte(atSnapshot)}},
		}, nil)
	}
	rpc.RespChan <- answer
}

// shut ends the relay. Requests that wait get no answer.
func (i *installs) shut() {
	i.once.Do(func() { close(i.done) })
	i.wg.Wait()
}
