package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/tetratelabs/wazero/sys"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime/memory"
	"github.com/taskrt/taskrt/runtime/upload"
	"github.com/taskrt/taskrt/runtime/wasmbin"
)

// command is what a program that knows nothing of taskrt gets of its task (SPEC B5). Such a program is a WASI preview
// 1 command module, which has _start and no taskrt_run. All other guests have no command, nor have commands before
// _start.
type command struct {
	stdin   contentReader // params
	args    []string      // the program's name, and no arguments
	environ []string      // NAME=VALUE
	exit    uint32        // exit code, once it has ended
}

// ResultLimitError ends a command whose standard output is longer than a result may be. A status would not do: a
// program that does not look at it would end well, with a result that is cut off.
type ResultLimitError struct{ Limit int64 }

func (e *ResultLimitError) Error() string {
	return fmt.Sprintf("standard output is over the limit of %d bytes for results (result_bytes)", e.Limit)
}

// isCommand says whether a module is run by its _start.
func isCommand(m *wasmbin.Module) bool {
	_, run := m.Export(abi.ExportRun)
	_, start := m.Export(abi.ExportStart)
	return start && !run
}

// checkCommand checks the entry points of a command module.
func checkCommand(m *wasmbin.Module) error {
	if _, both := m.Export(abi.ExportInitialize); both {
		return upload.Errorf(upload.BadExport, "export "+abi.ExportInitialize,
			"the module exports %s too: a WASI module is a command or a reactor, not both", abi.ExportStart)
	}
	return checkOptional(m, abi.ExportStart, abi.ExportDescribe)
}

// becomeCommand has g see its task as commands do.
func (g *guest) becomeCommand() {
	a := &g.attempt
	var info abi.TaskInfo
	known := json.Unmarshal(a.InfoJSON(), &info) == nil
	name := info.Behavior
	if name == "" {
		name = "command"
	}
	g.command = &command{
		stdin: contentReader{content: content{a.Params, a.ParamsFrom}},
		args:  []string{name}, environ: commandEnviron(a, &info, known),
	}
}

// commandEnviron lists the environment of a command (abi/README.md, "Command modules"). Variables that hold nothing,
// or what a C string cannot hold, are left out.
func commandEnviron(a *Attempt, info *abi.TaskInfo, known bool) []string {
	environ := []string{
		"TASKRT_ABI=" + strconv.Itoa(abi.Version),
		"TASKRT_RUN_TIMEOUT_MS=" + strconv.FormatInt(a.RunTimeout.Milliseconds(), 10),
		"TASKRT_INFO=" + string(a.InfoJSON()),
	}
	if known {
		environ = append(environ,
			"TASKRT_NAMESPACE="+info.Namespace, "TASKRT_TASK_ID="+info.ID, "TASKRT_BEHAVIOR="+info.Behavior,
			"TASKRT_VERSION="+info.Version, "TASKRT_ATTEMPT="+strconv.FormatInt(info.Attempt, 10),
			"TASKRT_MAX_ATTEMPTS="+strconv.FormatInt(info.MaxAttempts, 10),
			"TASKRT_FAILURES="+strconv.FormatInt(info.Failures, 10), "TASKRT_TOKEN="+strconv.FormatUint(info.Token, 10),
			"TASKRT_PARENT="+info.Parent, "TASKRT_PARTITION="+info.Partition,
			"TASKRT_DEADLINE_MS="+numberOrNothing(info.DeadlineMS), "TASKRT_CREATED_MS="+numberOrNothing(info.CreatedMS),
			"TASKRT_NODE="+info.Node, "TASKRT_WORKER="+info.Worker, "TASKRT_PRIORITY="+strconv.Itoa(int(info.Priority)))
	}
	kept := environ[:0]
	for _, e := range environ {
		if !strings.HasSuffix(e, "=") && !strings.ContainsRune(e, 0) {
			kept = append(kept, e)
		}
	}
	return kept
}

func numberOrNothing(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// contentReader reads an input from its beginning to its end.
type contentReader struct {
	content

	off uint32
}

func (r *contentReader) Read(p []byte) (int, error) {
	n := int(r.read(p, r.off))
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	r.off += uint32(n)
	return n, nil
}

// Left implements wasi.Input.
func (r *contentReader) Left() int64 {
	size := int64(len(r.data))
	if r.from != nil {
		size = r.from.Size
	}
	return max(0, size-int64(r.off))
}

// busy counts used fuel as a heartbeat, for guests that have no other sign of life (SPEC B5).
func (g *guest) busy() {
	if g.command != nil {
		g.beaten()
	}
}

// start runs a command to its end.
func (i *instance) start(ctx context.Context) (abi.Outcome, error) {
	start := i.mod.ExportedFunction(abi.ExportStart)
	i.guest.enterStack(start, i.mem)
	err := start.CallWithStack(ctx, nil)
	var exit *sys.ExitError
	switch {
	case err == nil:
		i.clean = true
		return abi.OutcomeOK, nil
	case !errors.As(err, &exit):
		return 0, err
	}
	i.clean = true // an exit is how programs end
	i.guest.command.exit = exit.ExitCode()
	switch {
	case exit.ExitCode() == abi.ExitOK:
		return abi.OutcomeOK, nil
	case exit.ExitCode() == abi.ExitRetryable:
		return abi.OutcomeRetryable, nil
	case i.mem.Refused() != memory.NotRefused:
		return 0, err // it says so in its own way; the code is OUT_OF_MEMORY
	}
	return abi.OutcomePermanent, nil
}

// exitError is the failure of a command that wrote nothing to the error channel.
func (g *guest) exitError() Outcome {
	out := Outcome{Kind: Failed, Class: ClassGuest, Code: CodeHandlerError}
	out.Message = join(fmt.Sprintf("exit code %d", g.command.exit), g.lastWords())
	details, err := json.Marshal(struct {
		ExitCode uint32 `json:"exit_code"`
		Stderr   string `json:"stderr,omitempty"`
	}{g.command.exit, strings.ToValidUTF8(string(g.stderr.last()), "\ufffd")})
	if err == nil { // a number and a string always marshal
		out.Details = details
	}
	return out
}

// lastWords is the end of standard error, in whole lines where they are not too long; of a panic, the line that names it.
func (g *guest) lastWords() string {
	const most = 1024
	if gist := g.gist(); isPanic(gist) {
		return gist
	}
	text := strings.TrimSpace(strings.ToValidUTF8(string(g.stderr.last()), "\ufffd"))
	if len(text) <= most {
		return text
	}
	text = text[len(text)-most:]
	if _, lines, ok := strings.Cut(text, "\n"); ok {
		text = lines
	}
	return strings.ToValidUTF8(text, "")
}
