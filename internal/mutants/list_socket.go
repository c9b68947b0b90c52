package main

// socketMutants sabotage the streams of clients, at both ends.
var socketMutants = []mutant{
	// The server.
	{Name: "socket-under-way-unbounded", Dir: "api/server/socket", In: "conn.waitForRoom", Old: "for c.underWay >= stream.MaxUnderWay && !c.closed {", New: "for c.underWay < 0 {",
		Pkg: "./api/server", Run: "TestStreamIsBounded$", Why: "a client that reads nothing would fill the node (H5)"},
	{Name: "socket-watches-unbounded", Dir: "api/server/socket", In: "newConn", Old: "make(chan struct{}, stream.MaxWatches)", New: "make(chan struct{}, stream.MaxUnderWay)",
		Pkg: "./api/server", Run: "TestWatchesAreBounded$", Why: "watches would keep the node from reading what ends them (H5)"},
	{Name: "socket-parts-pile-up", Dir: "api/server/socket", In: "answer.WriteEvents", Old: "case <-part.sent:", New: "default:",
		Pkg: "./api/server", Run: "TestWatchOfASlowReader$", Why: "a watch whose client is slow would fill the node (H5)"},
	{Name: "socket-watch-forgets-its-place", Dir: "api/server/socket", In: "conn.request", Old: "strconv.FormatUint(*q.After, 10)", New: "strconv.FormatUint(0, 10)",
		Pkg: "./api/server", Run: "TestWatchOverAStream$", Why: "a watch that goes on elsewhere would begin anew (H5)"},
	{Name: "socket-place-not-told", Dir: "api/server/stream", In: "messages.beat", Old: "if id != nil {", New: "if id == nil {",
		Pkg: "./api/server", Run: "TestWatchOverAStream$", Why: "a watch that sees little would fall out of what the nodes keep (H5, W3)"},
	{Name: "socket-answer-of-another", Dir: "api/server/socket", In: "answer.frame", Old: "stream.Answer{N: a.n,", New: "stream.Answer{N: a.n ^ 1,",
		Pkg: "./api/server", Run: "TestStreamAnswersAsTheyCome$", Why: "a client would take the answer to another request for its own (H5)"},
	{Name: "socket-number-twice", Dir: "api/server/socket", In: "conn.begin", Old: "if c.running[q.N] != nil {", New: "if c.running[q.N] != nil && c.closed {",
		Pkg: "./api/server", Run: "TestStreamMessagesThatAreRefused$", Why: "nobody could tell the answers to two requests apart (H5)"},
	{Name: "socket-drain-drops-what-is-under-way", Dir: "api/server/socket", In: "conn.drain", Old: "for len(c.running) > 0 && !c.closed {", New: "for len(c.running) < 0 {",
		Pkg: "./api/server", Run: "TestStreamDrains$", Why: "close code 1001 would say of what was done that it was not begun (H5)"},
	{Name: "socket-outlives-its-token", Dir: "api/server/socket", In: "Serve", Old: "token = long", New: "_ = long",
		Pkg: "./api/server", Run: "TestStreamEndsWithItsToken$", Why: "a stream of a token that was revoked would stay open (A4, H5)"},
	{Name: "socket-tracestate-dropped", Dir: "api/server/socket", In: "conn.request", Old: "tracing.StateHeader: q.State", New: "tracing.StateHeader: \"\"",
		Pkg: "./api/server", Run: "TestStreamKeepsHeaders$", Why: "a vendor's part of a trace would end at the stream (U2)"},
	{Name: "socket-lost-tasks-kept", Dir: "api/server/socket", In: "answer.FlushError", Old: "return a.conn.ctx.Err()", New: "return nil",
		Pkg: "./api/server", Run: "TestStreamGivesTasksBack$", Why: "tasks whose acceptor is gone would wait for the end of their lease (J2)"},

	// The Go client.
	{Name: "socket-client-mixes-answers", Dir: "api/client/internal/socket", In: "conn.give", Old: "x := c.waiting[answers[i].N]", New: "x := c.waiting[answers[len(answers)-1-i].N]",
		Pkg: "./api/client/internal/socket", Run: "TestManyInAMessage$", Why: "callers would get the answers to others (H5)"},
	{Name: "socket-client-sends-again", Dir: "api/client/internal/socket", In: "conn.end", Old: "lost := fmt.Errorf(\"%w: %w\", ErrLost, why)", New: "lost := fmt.Errorf(\"%w: %w\", ErrNone, why)",
		Pkg: "./api/client/internal/socket", Run: "TestEnds$", Why: "what may have been done would be done again (H4, H5)"},
	{Name: "socket-client-keeps-quiet", Dir: "api/client/internal/socket", In: "conn.giveUp", Old: "c.queue = append(c.queue, &asked{request: stream.Request{N: x.request.N, Cancel: true}})", New: "",
		Pkg: "./api/client/internal/socket", Run: "TestGivenUp$", Why: "a long poll that nobody waits for would take tasks (J2)"},
	{Name: "socket-client-of-another-token", Dir: "api/client/internal/socket", In: "Node.ready", Old: "if n.conn != nil && n.conn.from.Token != token { n.retire()", New: "if n.conn != nil && n.conn.from.Token == \"\" { n.retire()",
		Pkg: "./api/client/internal/socket", Run: "TestTokens$", Why: "requests would go under a token that was replaced (A4)"},
}
