package main

// trustMutants sabotage what proves who is at either end of a connection (SPEC A1 to A3, A11).
var trustMutants = []mutant{
	{
		Name: "pages-any-host", Dir: "api/server/pages", In: "Door.answersTo", Old: `|| d.names[name]`, New: `|| name != ""`,
		Pkg: "./api/server/pages", Run: "TestHosts", Why: "A6: a page on a rebound name reads everything",
	},
	{
		Name: "pages-host-ends-alike", Dir: "api/server/pages", In: "Door.answersTo", Old: `strings.HasSuffix(name, ".localhost")`, New: `strings.HasSuffix(name, "localhost")`,
		Pkg: "./api/server/pages", Run: "TestHosts", Why: "A6: anybody can have a name that ends like this",
	},
	{
		Name: "pages-gets-pass", Dir: "api/server/pages", In: "crossOrigin", Old: `Method: http.MethodPost`, New: `Method: r.Method`,
		Pkg: "./api/server/pages", Run: "TestOrigins", Why: "A6: a page holds waits and streams open, and measures what exists",
	},
	{
		Name: "pages-other-origins", Dir: "api/server/pages", In: "Door.Check", Old: `if crossOrigin(r) {`, New: `if r.TLS == nil && crossOrigin(r) {`,
		Pkg: "./api/server/pages", Run: "TestOrigins", Why: "A6: over TLS any page could write",
	},
	{
		Name: "pages-no-policy", Dir: "api/server/pages", In: "Mark", Old: `] = policy`, New: `] = nil`,
		Pkg: "./api/server/pages", Run: "TestKeep", Why: "A6: a page sees of an address that is not loopback what exists there",
	},
	{
		Name: "pages-all-open", Dir: "api/server", In: "handler.ServeHTTP", Old: `if !h.open[r.URL.Path] {`, New: `if h.open[r.URL.Path] {`,
		Pkg: "./api/server", Run: "TestPagesGetNothing", Why: "A6: every route is open to web pages",
	},
	{
		Name: "pages-bodies-read", Dir: "api/server", In: "handler.ServeHTTP", Old: `leaveBody(w, r)`, New: ``,
		Pkg: "./api/server", Run: "TestPagesGetNothing", Why: "A9: a refused request has its body read",
	},
	{
		Name: "frames-on-trust", Dir: "internal/arriving", In: "Append", Old: `min(end-have, max(step, have))`, New: `end-have`,
		Pkg: "./raftstore/rpc", Run: "TestAnnouncedBytesCostNothing", Why: "A9: thirteen bytes of a stranger cost 64 MiB",
	},
	{
		Name: "trust-any-role", Dir: "trust", In: "proven", Old: `case p.Role:`, New: `case p.Role, mux.Worker:`,
		Pkg: "./trust", Run: "TestRolesAreTheAuthoritys", Why: "A2: a worker secret makes certificates of nodes",
	},
	{
		Name: "trust-leaves-sign", Dir: "trust", In: "proven", Old: `!c.IsCA || chain[0].CheckSignatureFrom(c) != nil`, New: `chain[0].CheckSignature(chain[0].SignatureAlgorithm, nil, nil) == nil`,
		Pkg: "./trust", Run: "TestOneSecret|TestCertificatesSignNothing", Why: "A2: signatures are not looked at",
	},
	{
		Name: "trust-any-server", Dir: "trust", In: "Keys.Client", Old: `mux.Node`, New: `0`,
		Pkg: "./trust", Run: "TestOneSecret", Why: "A2: a worker takes a worker for a node",
	},
	{
		Name: "trust-dropped-secret-stays", Dir: "trust", In: "Keys.use", Old: `!r.holds(c)`, New: `false`,
		Pkg: "./trust", Run: "TestRotation", Why: "A2: who holds a dropped secret stays connected",
	},
	{
		Name: "trust-no-cross-certificate", Dir: "trust", In: "authority.chain", Old: `range former`, New: `range former[:0]`,
		Pkg: "./trust", Run: "TestRotation|TestAPIFollowsTheSecret", Why: "A2: the former secret is shut out before it is dropped",
	},
	{
		Name: "trust-readable-by-all", Dir: "trust", In: "checkMode", Old: `mode&0o007 != 0, mode&0o020 != 0`, New: `false`,
		Pkg: "./trust", Run: "TestFilesOfOthers", Why: "A2: everybody on the machine can read the secret",
	},
	{
		Name: "trust-any-api", Dir: "trust", In: "pinned", Old: `p.Role != mux.API`, New: `false`,
		Pkg: "./trust", Run: "TestAPI", Why: "A3: a worker passes for the API of its cluster",
	},
	{
		Name: "mux-workers-speak-all", Dir: "internal/mux", In: "Role.may", Old: `slices.Contains(workerProtocols, p)`, New: `!slices.Contains(workerProtocols, 0)`,
		Pkg: "./trust", Run: "TestPortByRole", Why: "A2: a worker proposes, votes and reads logs",
	},
	{
		Name: "mux-greeting-of-another", Dir: "raftstore/rpc", In: "Server.serve", Old: `!mux.MayBe(c, mux.Node, g.From)`, New: `g.From == "" && !mux.MayBe(c, mux.Node, g.From)`,
		Pkg: "./raftstore/rpc", Run: "TestGreetingsAreProven", Why: "A2: a node passes for another one",
	},
	{
		Name: "mux-server-of-another", Dir: "raftstore/rpc", In: "client.dial", Old: `!mux.MayBe(conn, mux.Node, c.key.identity)`, New: `false`,
		Pkg: "./raftstore/rpc", Run: "TestGreetingsAreProven", Why: "A2: a proposal goes to a node that is not meant",
	},
	{
		Name: "mux-silent-unbounded", Dir: "internal/mux", In: "Mux.Serve", Old: `m.waiting.Len() > maxWaiting`, New: `false`,
		Pkg: "./internal/mux", Run: "TestSilentConnectionsAreBounded", Why: "A11: strangers who say nothing fill the memory",
	},
	{
		Name: "lobby-silent-unbounded", Dir: "api/server/lobby", In: "Lobby.enter", Old: `c.in.len() > most`, New: `false`,
		Pkg: "./api/server/lobby", Run: "TestStrangersWaitInBounds", Why: "A9: strangers who say nothing to the API fill the memory",
	},
	{
		Name: "lobby-oldest-of-all", Dir: "api/server/lobby", In: "order.Less", Old: `a.weight != b.weight`, New: `false`,
		Pkg: "./api/server/lobby", Run: "TestStrangersWaitInBounds", Why: "A9: a stranger's connections close those of others",
	},
	{
		Name: "lobby-few-are-many", Dir: "api/server/lobby", In: "queue.add", Old: `a.weight = max(len(a.conns), q.few)`, New: `a.weight = len(a.conns) + q.few`,
		Pkg: "./api/server/lobby", Run: "TestManyAddresses", Why: "A9: thousands of addresses shut out a client with two connections",
	},
	{
		Name: "lobby-half-a-header-is-one", Dir: "api/server/lobby", In: "Lobby.Follow", Old: `case http.StateActive:`, New: `case http.StateNew, http.StateActive:`,
		Pkg: "./api/server/lobby", Run: "TestStrangersWaitInBounds", Why: "A9: slow headers are not counted",
	},
	{
		Name: "lobby-idle-uncounted", Dir: "api/server/lobby", In: "Lobby.Follow", Old: `c.counted && c.in == nil`, New: `false`,
		Pkg: "./api/server/lobby", Run: "TestIdleInBounds|TestOpenInBounds", Why: "A9: one refused request buys a connection for minutes",
	},
	{
		Name: "lobby-open-unbounded", Dir: "api/server/lobby", In: "Lobby.admit", Old: `full := l.count >= l.open`, New: `full := false`,
		Pkg: "./api/server/lobby", Run: "TestOpenInBounds", Why: "A9: connections take the files of raft and the blobs",
	},
	{
		Name: "lobby-files-all", Dir: "api/server/lobby", In: "openBound", Old: `int(files)/2/ports`, New: `int(files)`,
		Pkg: "./api/server/lobby", Run: "TestOpenBound", Why: "A9: nothing is left for raft, logs and blobs",
	},
	{
		Name: "lobby-handshakes-at-once", Dir: "api/server/lobby", In: "conn.Read", Old: `n > 0 && !c.compute()`, New: `false`,
		Pkg: "./api/server/lobby", Run: "TestHandshakesTakeTurns", Why: "A9: two thousand handshakes at once hold up raft",
	},
	{
		Name: "trust-thief-is-learned-from", Dir: "trust", In: "nextPins", Old: `return pins }`, New: `return slices.DeleteFunc(slices.Clone(pins), func(p Pin) bool { return !shown[p] }) }`,
		Pkg: "./trust", Run: "TestLearningClient$", Why: "A3: whoever has stolen the former secret makes clients forget the new one",
	},
	{
		Name: "trust-former-pin-kept", Dir: "trust", In: "nextPins", Old: `return !shown[p]`, New: `return false`,
		Pkg: "./trust", Run: "TestLearningClient$", Why: "A3: a secret that was dropped is trusted for ever by who knew it",
	},
	{
		Name: "trust-root-token-of-the-first", Dir: "trust", In: "secretRing", Old: `append(r.rootTokens, s.RootToken())`, New: `append(r.rootTokens[:0], s.RootToken())`,
		Pkg: "./trust", Run: "TestOwnCertificatesBesideTheSecret$", Why: "A2: root tokens end in the middle of a rotation",
	},
	{
		Name: "trust-token-file-half-written", Dir: "trust", In: "TokenFile.Text", Old: `err == nil { f.text = text`, New: `err == nil || text == "" { f.text = text`,
		Pkg: "./trust", Run: "TestTokenFile$", Why: "A4: requests fail while somebody writes the file of a token",
	},
	{
		Name: "client-token-in-the-clear", Dir: "api/client", In: "Config.checkClear", Old: `u.Scheme == "https" ||`, New: `true ||`,
		Pkg: "./api/client", Run: "TestTokenStaysOutOfTheClear$", Why: "A9: everybody on the way reads the token",
	},
	{
		Name: "client-token-follows-redirects", Dir: "api/client", In: "stayHere", Old: `req.URL.Host != from.Host ||`, New: `false ||`,
		Pkg: "./api/client", Run: "TestTokenStaysOutOfTheClear$", Why: "A9: the token goes to whatever server another one names",
	},
	{
		Name: "client-other-cluster-taken", Dir: "api/client", In: "Client.checkCluster", Old: `case own == "" || from == own:`, New: `case own == "" || from != "":`,
		Pkg: "./api/client", Run: "TestTokenOnEveryWay$", Why: "C2: the answer of another cluster is taken for the right one's",
	},
	// Access tokens in the log (A4).
	{
		Name: "task-revoked-speaks", Dir: "task", In: "Machine.turnedAway", Old: `c.Token != 0 && !m.access.Speaks(c.Token, int64(m.now))`, New: `false`,
		Pkg: "./task", Run: "TestScripts$", Why: "A4: a revoked token's commands would be carried out until every node has heard of it",
	},
	{
		Name: "task-refusal-kept", Dir: "task", In: "Machine.proposeKeyed", Old: `if r, no := m.turnedAway(&p.Caller); no {`, New: `if r, no := m.turnedAway(&p.Caller); no && o.Seq == 0 {`,
		Pkg: "./task", Run: "TestScripts$", Why: "A4: a key lets a revoked token's command through",
	},
	{
		Name: "task-callers-below-level", Dir: "task", In: "Machine.turnedAway", Old: `case m.level < AccessLevel:`, New: `case m.level < 1:`,
		Pkg: "./task", Run: "TestScripts$", Why: "A4: replicas of two builds would disagree (C9)",
	},
	{
		Name: "access-expired-speaks", Dir: "task/access", In: "Table.Speaks", Old: `e != nil && e.token.Holds(now)`, New: `e != nil`,
		Pkg: "./task", Run: "TestScripts$", Why: "A4: an expired token holds until a Tick",
	},
	{
		Name: "access-former-for-ever", Dir: "task/access", In: "Table.Hashed", Old: `|| e.token.Hash != h && e.token.FormerUntil <= now`, New: ``,
		Pkg: "./internal/sim", Run: "TestSim$", Why: "A4: a secret holds longer than its overlap",
	},
	{
		Name: "access-number-again", Dir: "task/access", In: "Table.New", Old: `max(t.Last, Root)+1`, New: `Root+1+uint64(t.Len())`,
		Pkg: "./task", Run: "TestScripts$", Why: "A4: a new token would own what a revoked one made",
	},
	{
		Name: "access-root-stays", Dir: "task/access", In: "Table.Speaks", Old: `return !t.RootOff`, New: `return true`,
		Pkg: "./task", Run: "TestScripts$", Why: "A4: a root token that was turned off still speaks",
	},
	{
		Name: "task-child-is-nobodys", Dir: "task", In: "Submit.from", Old: `return t.Creator, tracing`, New: `return m.caller, tracing`,
		Pkg: "./task", Run: "TestScripts$", Why: "A5: who created a task could not read its children",
	},
	{
		Name: "task-import-brings-creators", Dir: "task", In: "importer.task", Old: `0, x.m.caller`, New: `0, n.Creator`,
		Pkg: "./internal/sim", Run: "TestSim$", Why: "A5: numbers of another cluster's tokens would be those of this one's",
	},
	{
		Name: "task-import-below-level", Dir: "task", In: "ImportRecords.level", Old: `levelOf(t.Creator, t.Trace)`, New: `levelOf(0, t.Trace)`,
		Pkg: "./task", Run: "TestCreatorsNeedTheLevel$", Why: "C9: a former build stops at a field that it does not know",
	},
	{
		Name: "api-key-of-another-token", Dir: "api/server/keyed", In: "Once.Hashes", Old: `if p != nil {`, New: `if p != nil && p.Number == 0 {`,
		Pkg: "./api/server/keyed", Run: "TestKeysBelongToTheirToken$", Why: "A4: who guesses a key gets the answer to another's request",
	},
	{
		Name: "store-nobody-asks", Dir: "raftstore", In: "Store.proposeUntil", Old: `ps[i].Caller = by`, New: `ps[i].Caller = task.Caller{Token: 0 * by.Token}`,
		Pkg: "./raftstore", Run: "TestCallers$", Why: "A4: Apply cannot refuse a revoked token",
	},
	{
		Name: "store-callers-below-level", Dir: "raftstore", In: "Store.caller", Old: `if _ = s.catchUp(ctx); s.Level() < task.AccessLevel {`, New: `if false {`,
		Pkg: "./raftstore", Run: "TestCallers$", Why: "C9: a former build stops at an entry that it cannot read",
	},
	{
		Name: "tokens-give-away", Dir: "node/tokens", In: "Manager.CreateToken", Old: `if !p.Grant.Covers(&g) {`, New: `if false {`,
		Pkg: "./internal/clustertest", Run: "TestTokensOfTokens$", Why: "A4: a token could make another that may do more",
	},
	{
		Name: "tokens-of-others", Dir: "node/tokens", In: "manages", Old: `x != nil && p.Grant.Covers(&x.Grant)`, New: `x != nil`,
		Pkg: "./internal/clustertest", Run: "TestTokensOfTokens$", Why: "A4: a token could revoke those that may do more",
	},
	{
		Name: "tokens-root-ends-itself", Dir: "node/tokens", In: "Manager.DisableRoot", Old: `case p.Number == access.Root:`, New: `case p.Number == access.Root && false:`,
		Pkg: "./internal/clustertest", Run: "TestRootSwitch$", Why: "A4: nobody would be left who manages tokens",
	},
	{
		Name: "tokens-former-for-ever", Dir: "node/tokens", In: "known.Find", Old: `if hash != x.Hash && (until == 0 || x.FormerUntil < until) {`, New: `if false {`,
		Pkg: "./node/tokens", Run: "TestFind$", Why: "A4: the secret from before a rotation holds for a while only",
	},
	{
		Name: "tokens-calls-go-on", Dir: "node/wait", In: "Dispatcher.dispatch", Old: `		d.tokens()`, New: ``,
		Pkg: "./internal/clustertest", Run: "TestRevokedElsewhere$", Why: "A4: a wait or a stream would outlive its token",
	},
	{
		Name: "store-level-not-awaited", Dir: "raftstore", In: "Store.checkLevel", Old: `&& !reachesLevel(ctx, s, needs)`, New: ``,
		Pkg: "./internal/clustertest", Run: "TestRootSwitch$", Why: "C9: a cluster that was founded just now would refuse what it knows a moment later",
	},
	{
		Name: "server-open-beside-own", Dir: "cmd/taskrt", In: "checkPorts", Old: `insecure || secret, ofHTTP)`, New: `insecure || secret || own, ofHTTP)`,
		Pkg: "./cmd/taskrt", Run: "TestScripts/secret$", Why: "A6: certificates for the node port would open the port for clients to everybody",
	},
	{
		Name: "server-insecure-with-secret", Dir: "cmd/taskrt", In: "checkPorts", Old: `if insecure && secret {`, New: `if insecure && secret && own {`,
		Pkg: "./cmd/taskrt", Run: "TestScripts/secret$", Why: "A6: who says both would not hear which of them counts",
	},
	{
		Name: "dev-opens-a-secure-cluster", Dir: "cmd/taskrt/internal/devsecret", In: "Open", Old: `case !secure && missing:`, New: `case !secure:`,
		Pkg: "./cmd/taskrt", Run: "TestDevSecure$", Real: true, Why: "A6: a cluster would be open after a restart without a word",
	},
	{
		Name: "worker-token-in-clear", Dir: "cmd/taskrt/internal/lone", In: "Directory.check", Old: `if d.trust.Tokens != nil {`, New: `if d.trust.Guard != nil {`,
		Pkg: "./cmd/taskrt/internal/lone", Run: "TestTokensStayPrivate$", Why: "A4: a node that tells of an http URL would get a worker's token sent in the clear, or end its work",
	},
	{
		Name: "worker-token-inherited", Dir: "cmd/taskrt/internal/keys", In: "HideToken", Old: `os.Unsetenv(TokenVariable)`, New: `error(nil)`,
		Pkg: "./cmd/taskrt/internal/keys", Run: "TestWorkerTokens$", Why: "A10: the process that runs guests would have the token of its worker in its environment",
	},
	{
		Name: "worker-one-token", Dir: "cmd/taskrt/internal/lone", In: "Directory.cluster", Old: `api.CodeOf(err) != api.CodeUnauthenticated || i == len(tokens)-1`, New: `i >= 0`,
		Pkg: "./cmd/taskrt/internal/lone", Run: "TestTokens$", Why: "A2: workers would not find the nodes while the secret is being replaced",
	},
	{
		Name: "signin-any-audience", Dir: "node/signin", In: "verifier.verify", Old: `&oidc.Config{ClientID: i.ClientID}`, New: `&oidc.Config{SkipClientIDCheck: true}`,
		Pkg: "./node/signin", Run: "TestVerify$", Why: "A7: a token that an issuer made for another program would open the cluster",
	},
	{
		Name: "signin-unverified-email", Dir: "node/signin", In: "grant", Old: `&& (r.Claim != "email" || claims["email_verified"] == true)`, New: ``,
		Pkg: "./node/signin", Run: "TestGrant$", Why: "A7: whoever types somebody's address at an issuer would be that person",
	},
	{
		Name: "signin-asks-unbounded", Dir: "node/signin", In: "bounded.RoundTrip", Old: `if !b.rate.Allow() {`, New: `if b.rate.Allow(); false {`,
		Pkg: "./node/signin", Run: "TestIssuerAway$", Why: "A9: strangers could make a node flood an issuer",
	},
	{
		Name: "signin-session-for-ever", Dir: "task/access", In: "Token.Wrong", Old: `case t.Subject != "" && (t.Expires == 0 || t.Expires-t.CreatedAt > MaxSession):`, New: `case false:`,
		Pkg: "./task", Run: "TestScripts$/access", Why: "A7: a session is at most 12 h long",
	},
	{
		Name: "signin-rules-overwritten", Dir: "task/access", In: "Table.ReplaceSignIn", Old: `case former != t.SignInRev:`, New: `case false:`,
		Pkg: "./task", Run: "TestScripts$/access", Why: "A7: two admins at the same time would undo each other's rules",
	},
	{
		Name: "signin-rule-gives-more", Dir: "node/signin", In: "Desk.PutIssuer", Old: `if !p.Grant.Covers(&g) {`, New: `if p.Grant.Covers(&g); false {`,
		Pkg: "./internal/clustertest", Run: "TestSignInRules$", Why: "A7: an admin of some roles could give all of them to everybody",
	},
	{
		Name: "gate-never-catches-up", Dir: "node/access", In: "Gate.Enter", Old: `if whole && g.catchUp() {`, New: `if false {`,
		Pkg: "./node/access", Run: "TestLateToken$", Why: "A4: a token would be refused at other nodes just after it was made",
	},
	{
		Name: "gate-catches-up-for-guesses", Dir: "node/access", In: "Gate.Enter", Old: `if err := g.Guess(addr); err != nil {`, New: `if err := g.Guess(addr); err != nil && !whole {`,
		Pkg: "./node/access", Run: "TestLateToken$", Why: "A9: a guess would cost a question to the leader, without a bound",
	},
	{
		Name: "blob-workers-ask-as-nodes", Dir: "blob", In: "Store.serve", Old: `!forWorkers(q.op)`, New: `false`,
		Pkg: "./blob", Run: "TestRoles$", Why: "A2: a holder of a worker secret could put files that the log knows nothing of",
	},
	{
		Name: "blob-refusals-uncounted", Dir: "internal/mux", In: "Refuse", Old: `if c, ok := c.(*lesser); ok {`, New: `if c, ok := c.(*lesser); ok && why == nil {`,
		Pkg: "./blob", Run: "TestRoles$", Why: "A2: nobody would see a holder of a worker secret try the requests of nodes",
	},
	{
		Name: "stream-speaks-for-others", Dir: "node/lead", In: "speaker.breach", Old: `t.Lease.Token == token && t.Lease.Session != s.session`, New: `false`,
		Pkg: "./node/lead", Run: "TestWorkersSpeakForTheirOwn$", Why: "A2: a holder of a worker secret could end the attempts of all other workers",
	},
	{
		Name: "stream-speaks-ahead", Dir: "node/lead", In: "speaker.breach", Old: `token > task.LastToken(m)`, New: `false`,
		Pkg: "./node/lead", Run: "TestWorkersSpeakForTheirOwn$", Why: "A2: a report for the next token could come into the log just behind its assignment to another worker",
	},
	{
		Name: "stream-reports-unseen", Dir: "node/lead", In: "reportPump.startLocked", Old: `err != nil {`, New: `err != nil && len(batch) == 0 {`,
		Pkg: "./node/lead", Run: "TestWorkersSpeakForTheirOwn$", Why: "A2: a breach would be carried out",
	},
	{
		Name: "stream-first-report-only", Dir: "node/lead", In: "speaker.mayReport", Old: `range reports {`, New: `range reports[:1] {`,
		Pkg: "./node/lead", Run: "TestWorkersSpeakForTheirOwn$/behind_its_own", Why: "A2: a breach could hide behind a report of one's own",
	},
	{
		Name: "stream-goes-on-after-a-breach", Dir: "node/lead", In: "workerStream.refuse", Old: `_ = w.conn.Close()`, New: `_ = w.conn`,
		Pkg: "./node/lead", Run: "TestWorkersSpeakForTheirOwn$", Why: "A2: a worker could try one token after the other on one stream",
	},
	{
		Name: "stream-logs-for-the-ended", Dir: "node/lead", In: "speaker.mayLog", Old: `case t.History[past].Worker != s.worker:`, New: `case false:`,
		Pkg: "./node/lead", Run: "TestEndedAttemptsAreLoggedByTheirWorker$", Why: "A2: a holder of a worker secret could write into the logs of others' attempts",
	},
	{
		Name: "stream-drops-late-logs", Dir: "node/lead", In: "speaker.mayLog", Old: `case past < 0:`, New: `case true:`,
		Pkg: "./node/lead", Run: "TestOwnAttemptsOutliveTheirStream$", Why: "the end of a log would be lost when its attempt ends before it",
	},
	{
		Name: "stream-breaches-fill-the-log", Dir: "internal/mux", In: "Refusals.TellOf", Old: `told := now.Sub(r.told[from]) < time.Minute`, New: `told := now.Before(r.told[from])`,
		Pkg: "./node/lead", Run: "TestBreachesAreToldOnceAMinute$", Why: "A2: a worker that comes again and again would fill a node's log",
	},
}
