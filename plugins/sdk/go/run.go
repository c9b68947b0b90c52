package sdk

import (
	"runtime"
	"strconv"
	"unicode/utf8"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/plugins/sdk/go/internal/host"
	"github.com/taskrt/taskrt/plugins/sdk/go/tinyjson"
)

func init() {
	host.Installed = host.Hooks{Run: run, Describe: describe, Index: lookup, Error: statusError}
}

// run answers the export taskrt_run: it runs one attempt of the behavior with this index.
func run(h host.Host, index int32) abi.Outcome {
	c := &Context{h: h}
	b, err := pick(c, index)
	if err == nil {
		err = protect(c, b)
	}
	return finish(c, err)
}

// pick finds the behavior. The index is its place in the manifest. In a module with several behaviors, the name in the task's info
// wins over the index, because a manifest given at upload may list the behaviors in another order.
func pick(c *Context, index int32) (*Behavior, error) {
	if len(registry) > 1 {
		if i, ok := lookup(c.Info().Behavior); ok {
			return &registry[i], nil
		}
	}
	if index < 0 || int(index) >= len(registry) {
		return nil, Fail("unknown_behavior", "this module has no behavior number "+strconv.Itoa(int(index)))
	}
	return &registry[index], nil
}

// protect calls Run and makes a panic an error, with the stack in the log. A wasm trap (out of memory, a fatal error of
// Go's runtime) cannot be caught here; the host sees it.
func protect(c *Context, b *Behavior) (err error) {
	defer func() {
		if v := recover(); v != nil {
			stack := make([]byte, 8<<10)
			c.Log(LevelError, string(stack[:runtime.Stack(stack, false)]))
			err = &Error{Message: "panic: " + panicText(v), Retryable: true}
		}
	}()
	return b.Run(c)
}

// panicText says as much as it can without fmt. It asks no Stringer: this alone would link every String method that there is.
func panicText(v any) string {
	switch v := v.(type) {
	case error:
		return v.Error()
	case string:
		return v
	case int:
		return strconv.Itoa(v)
	}
	return "a value of another type"
}

// finish writes what the outcome needs and returns it.
func finish(c *Context, err error) abi.Outcome {
	if err == nil {
		return succeed(c)
	}
	if y, ok := find[*yield](err); ok {
		writeTime(c.h, y.at)
		return abi.OutcomeYield
	}
	if walk(err, func(err error) bool { return err == ErrCancelled }) { //nolint:errorlint // one step of walk, which unwraps
		return abi.OutcomeCancelled
	}
	l, again := find[*later](err)
	if again {
		writeTime(c.h, l.at)
	}
	e, ok := find[*Error](err)
	if !ok {
		e = &Error{Message: err.Error(), Retryable: true}
		err = e
	}
	writeError(c.h, e, message(err, e))
	if e.Retryable || again {
		return abi.OutcomeRetryable
	}
	return abi.OutcomePermanent
}

func writeTime(h host.Host, at Time) {
	if at != 0 {
		h.Write(abi.NextTime, strconv.AppendInt(nil, int64(at), 10))
	}
}

func succeed(c *Context) abi.Outcome {
	writeTime(c.h, c.again)
	if !c.given {
		return abi.OutcomeOK
	}
	if n := c.h.Write(abi.Result, c.result); n < 0 {
		what := "the result of " + strconv.Itoa(len(c.result)) + " bytes was refused: " + statusText(abi.Errno(n))
		writeError(c.h, &Error{Code: "too_big"}, what)
		return abi.OutcomePermanent
	}
	return abi.OutcomeOK
}

// maxMessage bounds an error's message; the rest belongs in the log.
const maxMessage = 4 << 10

// writeError writes {"code","message","details"}. If the host finds this too big, it writes only the start of the message.
func writeError(h host.Host, e *Error, msg string) {
	if h.Write(abi.ErrorDetail, errorDetail(e.Code, clip(msg, maxMessage), e.Details)) == int32(abi.E2BIG) {
		h.Write(abi.ErrorDetail, errorDetail(e.Code, clip(msg, 256), nil))
	}
}

func errorDetail(code, msg string, details []byte) []byte {
	buf := []byte{'{'}
	if code != "" {
		buf = tinyjson.AppendString(tinyjson.AppendMember(buf, "code"), code)
	}
	buf = tinyjson.AppendString(tinyjson.AppendMember(buf, "message"), msg)
	if details != nil {
		buf = tinyjson.AppendMember(buf, "details")
		if _, err := tinyjson.Parse(details); err == nil {
			buf = append(buf, details...)
		} else {
			buf = tinyjson.AppendString(buf, string(details))
		}
	}
	return append(buf, '}')
}

// clip cuts s to at most n bytes, between runes.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func quote(s string) string { return string(tinyjson.AppendString(nil, clip(s, 200))) }
