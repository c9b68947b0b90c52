package main

// memberMutants sabotage what is settled about members (SPEC C2).
var memberMutants = []mutant{
	{Name: "member-removed-forgotten", Dir: "task/roster", In: "Table.Settle", Old: "x.Removed = append(slices.Clone(x.Removed), remove)", New: "x.Removed = []string{remove}",
		Pkg: "./task", Run: "TestScripts$/members", Why: "C2: a directory that was removed before the last one would come back"},
	{Name: "member-approval-keeps-force", Dir: "task/roster", In: "Table.Settle", Old: "x.Node, x.Vote, x.Force, x.Index = node, v, force, index", New: "x.Node, x.Vote, x.Force, x.Index = node, v, force || x.Force, index",
		Pkg: "./task/roster", Run: "TestSettle$", Why: "C2: the next removal would ask for no majority"},
	{Name: "member-lost-in-snapshots", Dir: "task/roster", In: "Table.Restore", Old: "t.take(x)", New: "_ = x",
		Pkg: "./task", Run: "TestScripts$/members", Why: "C2: a removed node would come back after a snapshot"},
	{Name: "member-below-the-level", Dir: "task", In: "SetMember.level", Old: "return MembersLevel", New: "return FirstLevel",
		Pkg: "./task", Run: "TestScripts$/members", Why: "C9: the former build could not come back"},
	{Name: "member-evicts-voters", Dir: "task/roster", In: "Table.evict", Old: "x.Vote == Held && len(x.Removed) > 0 &&", New: "x.Vote != 9 &&",
		Pkg: "./task/roster", Run: "TestMany$", Why: "C2: an approval would be forgotten"},

	// Another cluster begins (SPEC C2, C8).
	{Name: "refound-leases-hold", Dir: "task", In: "Refound.apply", Old: "for n := m.losses.Head(); n != nil; n", New: "for n := m.losses.Head(); n != nil && c.DropTokens; n",
		Pkg: "./task", Run: "TestScripts$/refound", Why: "C2: a worker of the former cluster would go on with its task"},
	{Name: "refound-tokens-again", Dir: "task", In: "Refound.apply", Old: "m.token+Leap", New: "m.token",
		Pkg: "./task", Run: "TestScripts$/refound", Why: "C2: a token that the former cluster gave since would be given again"},
	{Name: "refound-revs-again", Dir: "task", In: "Refound.apply", Old: "m.rev+Leap", New: "m.rev",
		Pkg: "./task", Run: "TestScripts$/refound", Why: "C2: a rev that the former cluster gave since would be given again"},
	{Name: "refound-sessions-again", Dir: "task", In: "Refound.apply", Old: "m.sessionID+Leap", New: "m.sessionID",
		Pkg: "./task", Run: "TestScripts$/refound", Why: "C2: a worker of the former cluster would renew another's session"},
	{Name: "refound-answers-kept", Dir: "task", In: "Refound.apply", Old: "m.forgets = true", New: "m.forgets = false",
		Pkg: "./task", Run: "TestScripts$/refound", Why: "C2: a request would be answered with what another cluster has done"},
	{Name: "refound-without-root", Dir: "task", In: "dropAllAccess", Old: "if m.access.RootOff {", New: "if !m.access.RootOff {",
		Pkg: "./task", Run: "TestScripts$/refound", Why: "C8: nobody could do anything in a cluster restored without tokens"},

	// What the leader makes of it.
	{Name: "member-majority-not-asked", Dir: "raftstore/change", In: "manager.step", Old: "if srv.Suffrage == raft.Voter && !x.Force {", New: "if srv.Suffrage == raft.Voter && x.Force {",
		Pkg: "./raftstore", Run: "TestNoMajorityLeft$", Why: "C2: two who ask two nodes would take the majority away"},
	{Name: "member-removed-not-told", Dir: "raftstore/members", In: "Members.answerHello", Old: "if m.hasState() && m.c.Gone(h.Self.ID, h.Self.Instance) {", New: "if m.hasState() && m.c.Gone(h.Self.ID, h.Self.Addr) {",
		Pkg: "./raftstore", Run: "TestRemovedWhileAway$", Why: "C2: a removed directory would come back as a newcomer"},
	{Name: "member-held-promoted", Dir: "raftstore/change", In: "manager.look", Old: "return g.nonvoter(ctx, srv, x.Vote == roster.Voter)", New: "return g.nonvoter(ctx, srv, x.Vote != roster.Newcomer)",
		Pkg: "./raftstore", Run: "TestDemote$", Why: "C2: a demotion would not stick"},
	{Name: "member-newcomer-promoted", Dir: "raftstore/change", In: "manager.look", Old: "return g.nonvoter(ctx, srv, x.Vote == roster.Voter)", New: "return g.nonvoter(ctx, srv, x.Vote != roster.Held)",
		Pkg: "./raftstore", Run: "TestJoin$", Why: "C2: whoever starts a node would vote"},
	{Name: "member-depended-on", Dir: "raftstore/change", In: "manager.nonvoter", Old: "if why := g.alone(ctx); why != \"\" {", New: "if why := g.alone(ctx); why == \"?\" {",
		Pkg: "./raftstore", Run: "TestNewcomerIsNotTheMajority$", Why: "C2: the majority would depend on a newcomer alone"},
	{Name: "member-forgotten-early", Dir: "raftstore/change", In: "manager.nonvoter", Old: "< forgetAfter", New: "< time.Minute",
		Pkg: "./raftstore", Run: "TestForgotten$", Why: "C2: a follower would be forgotten during an upgrade"},
	{Name: "member-founders-unsettled", Dir: "raftstore/change", In: "manager.look", Old: "case votes && x.Vote == roster.Newcomer:", New: "case votes && x.Vote == roster.Held:",
		Pkg: "./raftstore", Run: "TestEmptyDirectory$", Why: "C2: a voter that lost its disk would wait for an approval"},
	{Name: "member-waits-for-restart", Dir: "raftstore/members", In: "doubtAfter", Old: "2 * time.Second", New: "2 * time.Hour",
		Pkg: "./raftstore", Run: "TestRemovedBehindAPartition$", Why: "C2: a removed node would run on, unaware"},
}
