// Conformance is the guest of abi/abitest in Go: it does what the package comment of abitest asks of every SDK language, one function
// per case. It is a test, and a list of everything that the SDK can do.
package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/taskrt/taskrt/abi"
	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
)

func init() {
	sdk.Register(sdk.Behavior{Name: "conformance", Description: "the conformance guest of ABI v1", Run: run})
}

// run dispatches "CASE" or "CASE ARG".
func run(c *sdk.Context) error {
	var head [7]byte // of params that may be more than fits in memory
	if n, _ := c.ParamsReader().ReadAt(head[:], 0); string(head[:n]) == "pieces " || string(head[:n]) == "pieces" {
		return pieces(c)
	}
	name, arg, _ := bytes.Cut(c.Params(), []byte(" "))
	if f, ok := cases()[string(name)]; ok {
		return f(c, arg)
	}
	return sdk.Fail("unknown_case", string(name))
}

func cases() map[string]func(*sdk.Context, []byte) error {
	return map[string]func(*sdk.Context, []byte) error{
		"echo": echo, "sum": sum, "empty": empty, "fill": fill,
		"fail-retry": failRetry, "fail-permanent": failPermanent, "fail-plain": failPlain, "fail-details": failDetails,
		"beat": beat, "signals": signals, "wait-cancel": waitCancel, "wait-drain": waitDrain,
		"checkpoint": checkpoint, "resume": resume,
		"log": log, "stdout": stdout, "stderr": stderr,
		"clock": clock, "sleep": sleep, "random": random, "info": info, "config": config,
		"yield": yield, "again": again, "later": later, "panic": panics, "exit": exit,
		"blob-size": blobSize, "blob-read": blobRead, "partitions": partitions,
	}
}

func number(arg []byte) int64 {
	n, err := strconv.ParseInt(string(arg), 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func text(c *sdk.Context, s string) error {
	c.SetResult([]byte(s))
	return nil
}

func echo(c *sdk.Context, arg []byte) error { c.SetResult(arg); return nil }

func sum(c *sdk.Context, _ []byte) error {
	var s uint32
	for _, b := range c.Params() {
		s += uint32(b)
	}
	return text(c, strconv.Itoa(len(c.Params()))+" "+strconv.FormatUint(uint64(s), 10))
}

// pieces is sum for params that may be more than fits in memory.
func pieces(c *sdk.Context) error {
	var s uint32
	var n int64
	buf := make([]byte, 4096)
	for r := c.ParamsReader(); ; {
		got, err := r.Read(buf)
		for _, b := range buf[:got] {
			s += uint32(b)
		}
		if n += int64(got); errors.Is(err, io.EOF) {
			return text(c, strconv.FormatInt(n, 10)+" "+strconv.FormatUint(uint64(s), 10))
		}
		if err != nil {
			return err
		}
	}
}

func empty(*sdk.Context, []byte) error { return nil }

func fill(c *sdk.Context, arg []byte) error {
	c.SetResult(bytes.Repeat([]byte("x"), int(number(arg))))
	return nil // the SDK says too_big
}

func codeMessage(arg []byte) (code, message string) {
	c, m, _ := bytes.Cut(arg, []byte(" "))
	return string(c), string(m)
}

func failRetry(_ *sdk.Context, arg []byte) error { return sdk.Retryable(codeMessage(arg)) }

func failPermanent(_ *sdk.Context, arg []byte) error { return sdk.Fail(codeMessage(arg)) }

func failPlain(_ *sdk.Context, arg []byte) error { return errors.New(string(arg)) }

func failDetails(*sdk.Context, []byte) error {
	return &sdk.Error{Code: "with_details", Message: "see details", Details: []byte(`{"k":[1,2]}`)}
}

func beat(c *sdk.Context, arg []byte) error {
	var all sdk.Signals
	n := number(arg)
	for i := int64(1); i <= n; i++ {
		c.Note("step " + strconv.FormatInt(i, 10))
		all |= c.Heartbeat(i, n)
	}
	return text(c, strconv.Itoa(int(all)))
}

func signals(c *sdk.Context, _ []byte) error { return text(c, strconv.Itoa(int(c.Signals()))) }

func waitCancel(c *sdk.Context, _ []byte) error {
	for !c.Heartbeat(0, 0).Cancelled() {
	}
	return sdk.ErrCancelled
}

func waitDrain(c *sdk.Context, _ []byte) error {
	for !c.Heartbeat(0, 0).Draining() {
	}
	if err := c.SaveCheckpoint([]byte("drained")); err != nil {
		return err
	}
	return sdk.Yield(0)
}

// errno undoes what the SDK makes of the ABI's numbers, which the suite asks for.
func errno(err error) string {
	statuses := []error{
		1: sdk.ErrUnsupported, 2: sdk.ErrInvalid, 3: sdk.ErrTooLarge, 4: sdk.ErrNotFound, 5: sdk.ErrUnavailable, 6: sdk.ErrDenied, 7: sdk.ErrLeaseLost,
	}
	for n, e := range statuses {
		if e != nil && errors.Is(err, e) {
			return "errno_" + strconv.Itoa(n)
		}
	}
	return "errno_unknown"
}

func refused(err error) error { return sdk.Fail(errno(err), err.Error()) }

func blobSize(c *sdk.Context, arg []byte) error {
	r, err := c.Blob(string(arg))
	if err != nil {
		return refused(err)
	}
	return text(c, strconv.FormatInt(r.Size(), 10))
}

// blobRead is "OFFSET N NAME", in one request.
func blobRead(c *sdk.Context, arg []byte) error {
	off, rest, _ := bytes.Cut(arg, []byte(" "))
	n, name, _ := bytes.Cut(rest, []byte(" "))
	request := binary.LittleEndian.AppendUint64(bytes.Clone(name), uint64(number(off)))
	return call(c, abi.OpBlobRead, binary.LittleEndian.AppendUint32(request, uint32(number(n))))
}

func partitions(c *sdk.Context, arg []byte) error { return call(c, abi.OpPartitions, arg) }

func call(c *sdk.Context, op abi.Op, payload []byte) error {
	response, err := c.Call(op, payload)
	if err != nil {
		return refused(err)
	}
	c.SetResult(response)
	return nil
}

func checkpoint(c *sdk.Context, arg []byte) error {
	if err := c.SaveCheckpoint(arg); err != nil {
		return refused(err)
	}
	return resume(c, nil)
}

func resume(c *sdk.Context, _ []byte) error {
	if cp, ok := c.Checkpoint(); ok {
		c.SetResult(cp)
		return nil
	}
	return text(c, "none")
}

func log(c *sdk.Context, _ []byte) error {
	c.Log(sdk.LevelTrace, "a trace")
	c.Log(sdk.LevelDebug, "a debug")
	c.Log(sdk.LevelInfo, "an info")
	c.Log(sdk.LevelWarn, "a warn")
	c.Log(sdk.LevelError, "an error")
	return nil
}

func stdout(_ *sdk.Context, arg []byte) error { return line(os.Stdout, arg) }

func stderr(_ *sdk.Context, arg []byte) error { return line(os.Stderr, arg) }

func line(f *os.File, arg []byte) error {
	_, err := f.Write(append(bytes.Clone(arg), '\n'))
	return err
}

func clock(c *sdk.Context, _ []byte) error {
	wall, left, mono := int64(c.Now()), c.Remaining().Milliseconds(), int64(c.Elapsed())
	return text(c, strconv.FormatInt(wall, 10)+" "+strconv.FormatInt(left, 10)+" "+strconv.FormatInt(mono, 10))
}

func sleep(c *sdk.Context, arg []byte) error {
	time.Sleep(time.Duration(number(arg)) * time.Millisecond)
	return text(c, "slept")
}

func random(c *sdk.Context, arg []byte) error {
	p := make([]byte, number(arg))
	c.SetResult(p)
	return c.Random(p)
}

func info(c *sdk.Context, _ []byte) error { c.SetResult(c.Info().Raw); return nil }

func config(c *sdk.Context, _ []byte) error {
	if cfg := c.Config(); cfg != nil {
		c.SetResult(cfg)
		return nil
	}
	return text(c, "none")
}

func yield(_ *sdk.Context, arg []byte) error {
	if len(arg) == 0 {
		return sdk.Yield(0)
	}
	return sdk.Yield(sdk.Time(number(arg)))
}

func again(c *sdk.Context, arg []byte) error {
	c.RunAgain(sdk.Time(number(arg)))
	return text(c, "again")
}

func later(_ *sdk.Context, arg []byte) error {
	return sdk.RetryAt(sdk.Retryable("later", "later"), sdk.Time(number(arg)))
}

func panics(_ *sdk.Context, arg []byte) error { panic(string(arg)) }

func exit(_ *sdk.Context, arg []byte) error { os.Exit(int(number(arg))); return nil }

func main() {} // never called
