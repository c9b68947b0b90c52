package main

// storeMutants sabotage raftstore.
var storeMutants = []mutant{
	{Name: "store-fsync-off", File: "raftstore/disk.go", Old: "NoFreelistSync: true,", New: "NoFreelistSync: true, NoSync: true,",
		Pkg: "./raftstore", Run: "TestDurable$", Why: "a power failure would lose what was acknowledged (T6)"},
	{Name: "store-heartbeat-fast-path", File: "raftstore/transport.go", Old: "func (transport) SetHeartbeatHandler(func(raft.RPC)) {}", New: "func (t transport) SetHeartbeatHandler(f func(raft.RPC)) { t.NetworkTransport.SetHeartbeatHandler(f) }",
		Pkg: "./raftstore", Run: "TestNoHeartbeatFastPath$", Why: "a heartbeat beside raft's main loop can undo a vote (raft #695)"},
	{Name: "store-disk-error-ignored", File: "raftstore/disk.go", Old: "d.fail(fmt.Errorf(\"%w: %w\", ErrDiskFailed, err))", New: "_ = ErrDiskFailed",
		Pkg: "./raftstore", Run: "TestDiskErrorStops$", Why: "a node whose disk fails would go on as if nothing had happened"},
	{Name: "store-disk-stall-ignored", File: "raftstore/disk.go", Old: "watchdog := time.AfterFunc(d.timeout, func() {", New: "watchdog := time.AfterFunc(100*d.timeout, func() {",
		Pkg: "./raftstore", Run: "TestDiskStallStops$", Why: "a leader whose disk stalls keeps its leadership (raft #503)"},
	{Name: "store-hole-in-the-log", File: "raftstore/disk.go", Old: "if last == hi && first > lo {", New: "if last == hi && first > hi {",
		Pkg: "./raftstore", Run: "TestDeleteRange$", Why: "a crash between two deletions would leave a log that cannot be opened"},

	// Clocks.
	{Name: "store-lease-clock-from-wall", File: "raftstore/clock.go", Old: "s.lease + task.LeaseTime((mono-s.base)/time.Millisecond)", New: "s.lease + task.LeaseTime((wall-s.clock.Wall().UnixNano()+s.now)/int64(time.Millisecond))",
		Pkg: "./raftstore", Run: "TestStamper$", Why: "a jump of the wall clock would expire every lease (C3)"},
	{Name: "store-now-goes-back", File: "raftstore/clock.go", Old: "if wall >= s.now {", New: "if wall > 0 {",
		Pkg: "./raftstore", Run: "TestStamper$", Why: "stamped times never go back (C3)"},
	{Name: "store-now-stands-still", File: "raftstore/clock.go", Old: "s.now += int64(mono - s.at)", New: "s.now += 0 * int64(mono)",
		Pkg: "./raftstore", Run: "TestStamper$", Why: "an hour's jump back would stop every due time for an hour (C3)"},

	// The machine behind the log.
	{Name: "store-unknown-command-skipped", File: "raftstore/fsm.go", Old: "return nil, nil, digest, err\n", New: "return nil, nil, f.machine.Digest(), nil\n",
		Pkg: "./raftstore", Run: "TestUnknownCommandStops$", Why: "a node that skips a command differs from the others (C4)"},
	{Name: "store-panic-survived", File: "raftstore/fsm.go", Old: "err = fmt.Errorf(\"panic: %v\\n%s\", p, debug.Stack())", New: "_ = debug.Stack()",
		Pkg: "./raftstore", Run: "TestPanicInApplyStops$", Why: "a machine that panicked is worth nothing (C4)"},
	{Name: "store-snapshot-after-stop", File: "raftstore/fsm.go", Old: "return nil, errStopped", New: "_ = errStopped",
		Pkg: "./raftstore", Run: "TestStoppedMachineIsNotWrittenDown$", Why: "a broken state would be written down and survive the restart (C4)"},
	{Name: "store-digests-not-compared", File: "raftstore/digest.go", Old: "if ok && own.Sum != a.Digest.Sum {", New: "if ok && own.Index != a.Digest.Index {",
		Pkg: "./raftstore", Run: "TestDivergedFollowerStops$", Why: "a node whose state differs would go on (C4)"},
	{Name: "store-leader-is-right", File: "raftstore/digest.go", Old: "if 2*n > voters {", New: "if n > 0 && sum == own.Sum {",
		Pkg: "./raftstore", Run: "TestDivergedLeaderStops$|TestNoMajorityStopsAll$", Why: "the majority decides who is right, not the leader (C4)"},

	// Reads.
	{Name: "store-read-without-asking", File: "raftstore/read.go", Old: "index := s.raft.CommitIndex()\n", New: "index := s.raft.CommitIndex(); if index > 0 { return index, nil }\n",
		Pkg: "./raftstore", Run: "TestReadIsNeverStale$|TestReadAsksAfterwards$", Why: "a leader that is deposed without knowing would answer from the past (W4)"},
	{Name: "store-read-asks-a-minority", File: "raftstore/read.go", Old: "for ; 2*agree <= voters && asked > 0; asked-- {", New: "for agree++; 2*agree <= voters && asked > 0; asked-- {",
		Pkg: "./raftstore", Run: "TestReadIsNeverStale$|TestReadAsksAfterwards$", Why: "a majority confirms that a leader leads (W4)"},
	{Name: "store-read-by-verify-leader", File: "raftstore/read.go", Old: "index := s.raft.CommitIndex()\n", New: "index := s.raft.CommitIndex(); if s.gate.ask(s.raft.VerifyLeader) == nil { return index, nil }\n",
		Pkg: "./raftstore", Run: "TestReadAsksAfterwards$", Why: "an answer from before the question confirms a deposed leader (W4)"},
	{Name: "store-read-before-applied", File: "raftstore/read.go", Old: "\tindex, err := s.readIndex(ctx)\n", New: "\tindex, err := uint64(1), ctx.Err()\n",
		Pkg: "./raftstore", Run: "TestReadIsNeverStale$", Why: "a follower would not find what was written a moment ago (W4)"},

	// Proposing.
	{Name: "store-answer-before-commit", File: "raftstore/batcher.go", Old: "future := b.raft.applyEntry(data)\n", New: "future := b.raft.applyEntry(data); if b.finish(e, make([]task.Result, len(e.proposals)), nil); data != nil { b.gate.leave(); return }\n",
		Pkg: "./raftstore", Run: "TestGroupCommit$", Why: "what was acknowledged would not be durable (T6)"},
	{Name: "store-resend-with-new-number", File: "raftstore/propose.go", Old: "return s.origins.proposals(x, these) })", New: "return s.origins.proposals(s.origins.begin(len(these)), these) })",
		Pkg: "./raftstore", Run: "TestLostAnswer$", Why: "a command sent again would have a second effect (H4)"},
	{Name: "store-unanswered-acknowledged", File: "raftstore/origin.go", Old: "lowest := x.process.open.Front().Value.(*numbered).first", New: "lowest := x.first",
		Pkg: "./raftstore", Run: "TestOrigins$", Why: "the machine would forget an answer that somebody still waits for (H4)"},
	{Name: "store-unknown-outcome-told-as-none", File: "raftstore/propose.go", Old: "\tcase sent:\n", New: "\tcase sent && ctx.Err() == nil:\n",
		Pkg: "./raftstore", Run: "TestNoQuorum$", Why: "a caller would be told that nothing happened, and do it again (H4)"},
	{Name: "store-deposed-queue-answered", File: "raftstore/batcher.go", Old: "if b.answered(c, n, ErrNotLeader) {", New: "if b.answered(c, n, nil) {",
		Pkg: "./raftstore", Run: "TestQueueOfDeposedLeader$", Why: "commands that were never proposed would be acknowledged (T6)"},
	{Name: "store-half-known-outcome", File: "raftstore/batcher.go", Old: "c.err = ErrOutcomeUnknown\n", New: "c.err = err\n",
		Pkg: "./raftstore", Run: "TestCallOverEntries$", Why: "a call applied in part would be told that nothing was done (H4)"},
	{Name: "store-withdrawn-in-flight", File: "raftstore/batcher.go", Old: "if c.next > 0 || c.left == 0 {", New: "if c.left == 0 {",
		Pkg: "./raftstore", Run: "TestWithdraw$", Why: "a command that is on its way would be told as not proposed (H4)"},
	{Name: "store-queue-unbounded", File: "raftstore/batcher.go", Old: "if b.commands > 0 && (b.commands+len(c.sizes) > b.maxCommands || b.bytes+bytes > b.maxBytes) {", New: "if b.commands > 0 && b.maxBytes < 0 {",
		Pkg: "./raftstore", Run: "TestQueueBounds$", Why: "a burst would fill the leader's memory (H3)"},
	{Name: "store-entry-of-any-size", File: "raftstore/batcher.go", Old: "(bytes == 0 || bytes+c.sizes[c.next] <= maxEntryBytes)", New: "maxEntryBytes > 0",
		Pkg: "./raftstore", Run: "TestEntryBytes$", Why: "large entries delay heartbeats"},
	{Name: "store-entry-one-too-many", File: "raftstore/batcher.go", Old: "room, bytes := maxCommands, 0", New: "room, bytes := maxCommands+1, 0",
		Pkg: "./raftstore", Run: "TestGroupCommit$|TestCallOverEntries$", Why: "the bound of an entry's commands is exact"},
	{Name: "store-in-flight-unbounded", File: "raftstore/batcher.go", Old: "return b.inFlight < maxInFlight && ", New: "return ",
		Pkg: "./raftstore", Run: "TestGroupCommit$", Why: "a slow disk would see an entry per command"},
	{Name: "store-chunk-one-too-many", File: "raftstore/propose.go", Old: "|| i == maxCommands)", New: "|| i > maxCommands)",
		Pkg: "./raftstore", Run: "TestChunks$", Why: "a call is cut into what fits into an entry"},

	// Events and snapshots.
	{Name: "store-lag-not-told", File: "raftstore/subscribe.go", Old: "h.drop(s, true)", New: "h.drop(s, false)",
		Pkg: "./raftstore", Run: "TestLaggingSubscriber$", Why: "a subscriber that missed events would not look again (W3)"},
	{Name: "store-events-over-snapshot", File: "raftstore/fsm.go", Old: "f.hub.cut(true)", New: "_ = f.hub",
		Pkg: "./raftstore", Run: "TestInstallSnapshot$", Why: "waiters would miss what a snapshot brought (W1)"},
	{Name: "store-trailing-unbounded", File: "raftstore/snapshot.go", Old: "rc.TrailingLogs = trailingLogs(s.cfg.TrailingBytes, size)", New: "rc.TrailingLogs = maxTrailing + 0*trailingLogs(0, size)",
		Pkg: "./raftstore", Run: "TestInstallSnapshot$|TestTrailingLogs$", Why: "the log behind a snapshot is bounded in bytes"},
}
