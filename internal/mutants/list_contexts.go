package main

// contextsMutants sabotage how commands find their cluster, and tokens on the command line.
var contextsMutants = []mutant{
	{
		Name: "contexts-directory-open", Dir: "cmd/taskrt/internal/contexts", In: "Store.checkDir", Old: `mode&0o077 != 0`, New: `mode&0o002 != 0`,
		Pkg: "./cmd/taskrt/internal/contexts", Run: "TestOpenToOthers$", Why: "A3: others could look into the directory with everybody's tokens",
	},
	{
		Name: "contexts-misspelt-field", Dir: "cmd/taskrt/internal/contexts", In: "decode", Old: `d.DisallowUnknownFields()`, New: `d.UseNumber()`,
		Pkg: "./cmd/taskrt/internal/contexts", Run: "TestStrict$", Why: "A3: a ca that is misspelt would be trusted by nobody, in silence",
	},
	{
		Name: "contexts-writers-meet", Dir: "cmd/taskrt/internal/contexts", In: "Store.lock", Old: `unix.LOCK_EX|unix.LOCK_NB`, New: `unix.LOCK_SH|unix.LOCK_NB`,
		Pkg: "./cmd/taskrt/internal/contexts", Run: "TestLocked$", Why: "A3: a context that somebody adds would be lost to another one",
	},
	{
		Name: "contexts-learner-overwrites", Dir: "cmd/taskrt/internal/contexts", In: "Store.Learner", Old: `now.CA == known`, New: `now.CA != ""`,
		Pkg: "./cmd/taskrt/internal/contexts", Run: "TestLearner$", Why: "A3: a client that began long ago would undo what a user has set",
	},
	{
		Name: "contexts-successor", Dir: "cmd/taskrt/internal/contexts", In: "File.Remove", Old: `f.Current = ""`, New: `f.Current = append(f.Names(), "")[0]`,
		Pkg: "./cmd/taskrt/internal/contexts", Run: "TestFirstIsCurrent$", Why: "A3: commands would go to another cluster in silence",
	},
	{
		Name: "reach-token-goes-elsewhere", Dir: "cmd/taskrt/internal/reach", In: "Read", Old: `if name != "" || !isGiven(c, "server") {`, New: `if true {`,
		Pkg: "./cmd/taskrt/internal/reach", Run: "TestPrecedence$", Why: "A3: whoever names a server would talk to another one",
	},
	{
		Name: "reach-any-cluster", Dir: "cmd/taskrt/internal/reach", In: "Read", Old: `Cluster: kept.Cluster`, New: `Cluster: ""`,
		Pkg: "./cmd/taskrt/internal/reach", Run: "TestPrecedence$", Why: "C2: a context would be for whatever cluster is there now",
	},
	{
		Name: "reach-two-clusters-meant", Dir: "cmd/taskrt/internal/reach", In: "contextNamed", Old: `case name == "" || !isGiven(c, "server"):`, New: `case true:`,
		Pkg: "./cmd/taskrt/internal/reach", Run: "TestPrecedence$", Why: "A3: one of two clusters would be taken without a word",
	},
	{
		Name: "token-of-an-empty-flag", Dir: "cmd/taskrt", In: "listOf", Old: `len(parts) == 0`, New: `len(parts) < 0`,
		Pkg: "./cmd/taskrt", Run: "TestTokenRefusals$", Why: "A5: --namespace \"$UNSET\" would make a token for every namespace",
	},
	{
		Name: "client-revokes-once", Dir: "api/client", In: "Access.RevokeToken", Old: `r.maybe && api.CodeOf`, New: `!r.maybe && api.CodeOf`,
		Pkg: "./api/client", Run: "TestAccessIsSentAgain$", Why: "A4: a token that was revoked would be reported as none",
	},
	{
		Name: "alive-is-ready", Dir: "node", In: "Node.Alive", Old: `err != nil && ctx.Err() != nil {`, New: `err != nil {`,
		Pkg: "./node", Run: "TestAliveIsLessThanReady$", Why: "C10: a watchdog would start a node again and again because its disk is full",
	},
	{
		Name: "alive-whatever-the-disk", Dir: "node", In: "Node.Alive", Old: `err != nil && ctx.Err() != nil {`, New: `false && err != nil {`,
		Pkg: "./node", Run: "TestAliveIsLessThanReady$", Why: "C10: a node whose disk hangs would never be started again",
	},
	{
		Name: "watchdog-fed-blindly", Dir: "cmd/taskrt/internal/supervisor", In: "Supervisor.Watch", Old: `err := isAlive.answer(ctx, every, errHangs)`, New: `_ = errHangs; err := isAlive.answer(ctx, every, nil)`,
		Pkg: "./cmd/taskrt/internal/supervisor", Run: "TestWatchdogIsFedByHealth$", Why: "C10: a process that hangs would feed its watchdog",
	},
	{Name: "health-of-anybody", Dir: "cmd/taskrt/internal/health", In: "sameCertificate", Old: `!bytes.Equal(state.PeerCertificates[0].Raw, first.Bytes)`, New: `!bytes.Equal(nil, nil)`,
		Pkg: "./cmd/taskrt/internal/health", Run: "TestSameCertificate$", Why: "C6: whoever listens at the address would be taken for the server"},
	{Name: "orphans-own-children", Dir: "internal/subproc", In: "brood.reapOne", Old: `own != nil {`, New: `false && own != nil {`,
		Pkg: "./internal/subproc", Run: "TestOrphansAreReaped$", Why: "L5: how a process of guests has ended would be lost in a container"},
	{
		Name: "reload-half", Dir: "cmd/taskrt", In: "reloadServer", Old: `running.Grants.Replace(said.Grants)`, New: ``,
		Pkg: "./cmd/taskrt", Run: "TestSupervised$", Why: "B6: what an operator grants or takes back would count from the next start on, and the log would say that it was read",
	},
	{
		Name: "check-any-format", Dir: "raftstore/logstore", In: "Check", Old: `if err := sameKind(dir, found, kind); err != nil {`, New: `if err := sameKind(dir, found, kind); err != nil && found == "" {`,
		Pkg: "./cmd/taskrt", Run: "TestServerCheck$", Why: "C9: a check would pass what the start refuses",
	},
}
