package main

// wordsMutants sabotage how the command line reads and speaks.
var wordsMutants = []mutant{
	{Name: "words-raw-arguments", File: "internal/terminal/output.go", Old: "return argument{v}", New: "return v",
		Pkg: "./cmd/taskrt", Run: "TestNoCommandObeysTheText$", Why: "a guest's note could clear the screen, or pretend to be taskrt's words"},
	{Name: "words-raw-cells", File: "internal/terminal/table.go", Old: "t.write(Cell(fmt.Sprint(c)))", New: "t.write(fmt.Sprint(c))",
		Pkg: "./cmd/taskrt", Run: "TestNoCommandObeysTheText$", Why: "a label could clear the screen"},
	{Name: "words-raw-content", File: "internal/terminal/output.go", Old: "io.WriteString(o.w, Block(string(buf[:whole])))", New: "io.WriteString(o.w, string(buf[:whole]))",
		Pkg: "./internal/terminal", Run: "TestContentOnATerminal$", Why: "a guest's log could set the title of whoever looks at it"},
	{Name: "words-cut-characters", File: "internal/terminal/output.go", Old: "return i\n", New: "return len(b)\n",
		Pkg: "./internal/terminal", Run: "TestContentOnATerminal$", Why: "a character that two reads share would be shown as bytes"},
	{Name: "words-clean-pipes", File: "internal/terminal/output.go", Old: "if !o.IsTerminal() {\n\t\t_, err", New: "if o.IsTerminal() {\n\t\t_, err",
		Pkg: "./internal/terminal", Run: "TestContentIsExactWithoutATerminal$", Why: "a result in a file would not be the guest's bytes"},
	{Name: "words-flag-twice", File: "cmd/taskrt/args.go", Old: "if seen[name] && !addsUp(f) {", New: "if seen[name] && addsUp(f) && false {",
		Pkg: "./cmd/taskrt", Run: "TestArrange$", Why: "the last of two flags would win in silence"},
	{Name: "words-one-label-of-two", File: "task/read.go", Old: "return !slices.ContainsFunc(f.Labels,", New: "return !slices.ContainsFunc(f.Labels[len(f.Labels)/2:],",
		Pkg: "./api/apitest", Run: "TestInProcess$", Why: "a list of tasks to cancel would have others in it"},
	{Name: "words-compile-uninterrupted", File: "cmd/taskrt/run.go", Old: "case <-ctx.Done():\n\t\tvar zero T", New: "case <-context.WithoutCancel(ctx).Done():\n\t\tvar zero T",
		Pkg: "./cmd/taskrt", Run: "TestUnlessInterrupted$", Why: "taskrt run could not be interrupted while it compiles"},
	{Name: "words-unreached-unsaid", File: "worker/link.go", Old: "if silent < d.complain {", New: "if silent >= 0 {",
		Pkg: "./worker", Run: "TestNobodyThereIsLogged$", Why: "a worker with a wrong address would say nothing for ever"},
	{Name: "words-unreached-every-time", File: "worker/link.go", Old: "d.complain = silent + min(silent, lastComplaint)", New: "d.complain = silent",
		Pkg: "./worker", Run: "TestNobodyThereIsLogged$", Why: "it would say nothing else"},
}
