package main

// wordsMutants sabotage how the command line reads and speaks.
var wordsMutants = []mutant{
	{Name: "words-raw-arguments", Dir: "internal/terminal", In: "safely", Old: "return argument{v}", New: "return v",
		Pkg: "./cmd/taskrt", Run: "TestNoCommandObeysTheText$", Why: "a guest's note could clear the screen, or pretend to be taskrt's words"},
	{Name: "words-raw-cells", Dir: "internal/terminal", In: "Table.Row", Old: "t.write(Cell(fmt.Sprint(c)))", New: "t.write(fmt.Sprint(c))",
		Pkg: "./cmd/taskrt", Run: "TestNoCommandObeysTheText$", Why: "a label could clear the screen"},
	{Name: "words-raw-content", Dir: "internal/terminal", In: "Output.Content", Old: "io.WriteString(o.w, Block(string(buf[:whole])))", New: "io.WriteString(o.w, string(buf[:whole]))",
		Pkg: "./internal/terminal", Run: "TestContentOnATerminal$", Why: "a guest's log could set the title of whoever looks at it"},
	{Name: "words-cut-characters", Dir: "internal/terminal", In: "wholeRunes", Old: "return i", New: "return len(b)",
		Pkg: "./internal/terminal", Run: "TestContentOnATerminal$", Why: "a character that two reads share would be shown as bytes"},
	{Name: "words-clean-pipes", Dir: "internal/terminal", In: "Output.Content", Old: "if !o.IsTerminal() { _, err", New: "if o.IsTerminal() { _, err",
		Pkg: "./internal/terminal", Run: "TestContentIsExactWithoutATerminal$", Why: "a result in a file would not be the guest's bytes"},
	{Name: "words-flag-twice", Dir: "cmd/taskrt/internal/cmdline", In: "line.checkTwice", Old: "if seen[name] && !addsUp(f) {", New: "if seen[name] && addsUp(f) && false {",
		Pkg: "./cmd/taskrt", Run: "TestArrange$", Why: "the last of two flags would win in silence"},
	{Name: "words-one-label-of-two", Dir: "task/match", In: "Filter.Matches", Old: "!slices.ContainsFunc(f.Labels,", New: "!slices.ContainsFunc(f.Labels[:len(f.Labels)/2],",
		Pkg: "./task/match", Run: "TestMatches$", Why: "a list of tasks to cancel would have others in it"},
	{Name: "words-compile-uninterrupted", Dir: "cmd/taskrt", In: "unlessInterrupted", Old: "case <-ctx.Done(): var zero T", New: "case <-context.WithoutCancel(ctx).Done(): var zero T",
		Pkg: "./cmd/taskrt", Run: "TestUnlessInterrupted$", Why: "taskrt run could not be interrupted while it compiles"},
	{Name: "words-unreached-unsaid", Dir: "worker", In: "dialer.unreached", Old: "if silent < d.complain {", New: "if silent >= 0 {",
		Pkg: "./worker", Run: "TestNobodyThereIsLogged$", Why: "a worker with a wrong address would say nothing for ever"},
	{Name: "words-unreached-every-time", Dir: "worker", In: "dialer.unreached", Old: "d.complain = silent + min(silent, lastComplaint)", New: "d.complain = silent",
		Pkg: "./worker", Run: "TestNobodyThereIsLogged$", Why: "it would say nothing else"},
}
