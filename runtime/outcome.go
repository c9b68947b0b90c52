package runtime

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/tetratelabs/wazero/sys"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime/memory"
)

// outcome reads what a guest left behind when taskrt_run returned.
func (g *guest) outcome(status abi.Outcome) Outcome {
	next, err := parseNextTime(g.nextTime)
	if err != nil {
		return noResult(err.Error())
	}
	switch status {
	case abi.OutcomeOK:
		if g.attempt.ResultRequired && !g.hasResult {
			return noResult("the run succeeded without writing a result, and the manifest says result: required")
		}
		return Outcome{Kind: Succeeded, Result: g.result, HasResult: g.hasResult, Children: g.submits.docs, NextTime: next}
	case abi.OutcomeRetryable, abi.OutcomePermanent:
		out := g.guestError()
		out.Retryable = status == abi.OutcomeRetryable
		if out.Retryable {
			out.NextTime = next
		}
		return out
	case abi.OutcomeCancelled:
		return Outcome{Kind: Cancelled}
	case abi.OutcomeYield:
		return Outcome{Kind: Yielded, NextTime: next}
	}
	return noResult(fmt.Sprintf("%s returned %d, which is no outcome", abi.ExportRun, status))
}

func noResult(message string) Outcome {
	return Outcome{Kind: Failed, Code: CodeNoResult, Class: ClassGuest, Message: message}
}

func parseNextTime(text []byte) (int64, error) {
	if len(text) == 0 {
		return 0, nil
	}
	ms, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || ms <= 0 {
		return 0, fmt.Errorf("the next time (channel %d) is not a number of Unix milliseconds: %q", abi.NextTime, text)
	}
	return ms, nil
}

var guestCode = regexp.MustCompile(`^[a-z0-9_.-]{1,64}$`)

// guestError reads channel 17: JSON of exactly this shape, or text.
func (g *guest) guestError() Outcome {
	if g.command != nil && len(g.detail) == 0 {
		return g.exitError()
	}
	out := Outcome{Kind: Failed, Class: ClassGuest, Code: CodeHandlerError}
	var detail struct {
		Code    string          `json:"code"`
		Message string          `json:"message"`
		Details json.RawMessage `json:"details"`
	}
	dec := json.NewDecoder(bytes.NewReader(g.detail))
	dec.DisallowUnknownFields()
	text := bytes.TrimSpace(g.detail)
	if len(text) == 0 || text[0] != '{' || !json.Valid(text) || dec.Decode(&detail) != nil {
		out.Message = strings.ToValidUTF8(string(g.log.hide(g.detail)), "\ufffd")
		return out
	}
	detail.Code = string(g.log.hide([]byte(detail.Code)))
	out.Message = string(g.log.hide([]byte(detail.Message)))
	if len(detail.Details) > 0 && string(detail.Details) != "null" {
		out.Details = bytes.Clone(g.log.hideJSON(detail.Details))
	}
	switch {
	case guestCode.MatchString(detail.Code):
		out.Code = detail.Code
	case detail.Code != "":
		out.Message = fmt.Sprintf("%s (the guest's code %q is not [a-z0-9_.-]{1,64})", out.Message, detail.Code)
	}
	return out
}

// ended says what an error means with which guest code ended (docs/architecture.md#how-guests-end).
func (g *guest) ended(err error, mem *memory.Memory) Outcome {
	var exit *sys.ExitError
	isExit := errors.As(err, &exit)
	var unread *SourceError
	var tooLong *ResultLimitError
	switch {
	case g.ctx.Err() != nil && (errors.Is(err, errKilled) || isExit || errors.Is(err, g.ctx.Err())):
		return g.killed("while it ran")
	case errors.Is(err, errOutOfFuel):
		return g.outOfFuel()
	case errors.Is(err, errResultOverBudget):
		return g.outOfMemory(memory.OverBudget, fmt.Sprintf("its result of %d bytes does not fit", len(g.result)))
	case errors.Is(err, errStackOverBudget):
		return g.outOfMemory(memory.OverBudget, fmt.Sprintf("its calls are so deep that their stack of %d bytes does not fit", len(*g.stack.bytes)))
	case errors.As(err, &unread):
		return Outcome{Kind: Failed, Class: ClassGuest, Code: CodeHandlerError, Retryable: true, Message: unread.Error()}
	case errors.As(err, &tooLong):
		return Outcome{Kind: Failed, Class: ClassGuest, Code: CodeHandlerError, Message: tooLong.Error()}
	case isExit && exit.ExitCode() == 0:
		return noResult("the guest ended its process with exit code 0, without an outcome")
	case mem.Refused() != memory.NotRefused:
		return g.outOfMemory(mem.Refused(), g.trapMessage(err))
	case isExit:
		return Outcome{
			Kind: Failed, Class: ClassGuest, Code: CodeHandlerError, Retryable: true, // SPEC T7: absent means true
			Message: g.trapMessage(err), Details: g.trapDetails(nil),
		}
	}
	return Outcome{
		Kind: Failed, Class: ClassTrap, Code: CodeTrap, Message: g.trapMessage(err), Details: g.trapDetails(err),
	}
}

// killed is the end of a guest whose context is done.
func (g *guest) killed(when string) Outcome {
	cause := context.Cause(g.ctx)
	if outOfTime(cause) {
		return Outcome{
			Kind: Failed, Class: ClassTimeout, Code: CodeTimeout, Details: g.trapDetails(nil),
			Message: strings.TrimPrefix(fmt.Sprintf("%v, %s", cause, when), killedPrefix),
		}
	}
	return Outcome{Kind: Killed, Cause: cause}
}

func (g *guest) outOfMemory(why memory.Refusal, what string) Outcome {
	out := Outcome{Kind: Failed, Class: ClassExhausted, Code: CodeOutOfMemory, Details: g.trapDetails(nil)}
	if why == memory.OverBudget {
		// The guest did not cause this: another worker, or a later time, may have the memory.
		out.Class, out.Retryable = ClassGuest, true
		out.Message = join("the host's memory for guests is used up", what)
		return out
	}
	out.Message = join(fmt.Sprintf("over the limit of %d bytes of memory", g.attempt.MemoryBytes), what)
	return out
}

// What stands around the message in the text of a trap by wazero, and of our own errors.
const (
	killedPrefix  = "runtime: killed: " // of our own errors
	trapPrefix    = "wasm error: "
	trapRecovered = " (recovered by wazero)"
)

// trapMessage is the first line of a trap, and the line of standard error that says most.
func (g *guest) trapMessage(err error) string {
	var exit *sys.ExitError
	if errors.As(err, &exit) {
		return join(fmt.Sprintf("exit code %d", exit.ExitCode()), g.gist())
	}
	if g.module.uncaught(err) {
		return join("uncaught exception", g.gist())
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	first = strings.TrimSuffix(strings.TrimPrefix(first, trapPrefix), trapRecovered)
	return join(first, g.gist())
}

func join(a, b string) string {
	if b == "" {
		return a
	}
	return a + ": " + b
}

// gist returns the line of standard error that names a panic; without one, the last line.
func (g *guest) gist() string {
	const maxGist = 512
	var gist string
	for line := range strings.Lines(strings.ToValidUTF8(string(g.stderr.last()), "\ufffd")) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		gist = line
		if isPanic(line) {
			break
		}
	}
	return gist[:min(len(gist), maxGist)]
}

func isPanic(line string) bool {
	return strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:") || strings.Contains(line, "panicked at")
}

// trapDetails is JSON {"stderr","trace"} with the members that there are; nil if there are none.
func (g *guest) trapDetails(err error) []byte {
	var d struct {
		Stderr string `json:"stderr,omitempty"`
		Trace  string `json:"trace,omitempty"`
	}
	d.Stderr = strings.ToValidUTF8(string(g.stderr.last()), "\ufffd")
	if err != nil {
		d.Trace = g.module.trace(g.ctx, err)
	}
	if d.Stderr == "" && d.Trace == "" {
		return nil
	}
	text, err := json.Marshal(d)
	if err != nil {
		return nil // two strings always marshal
	}
	return text
}
