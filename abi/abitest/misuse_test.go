package abitest

import (
	"strconv"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime"
)

// misuse loads the guest misuse; run runs its case n with params "hello".
func misuse(t *testing.T) (run func(t *testing.T, n int32) (runtime.Outcome, *recorder)) {
	t.Helper()
	load := guest(t, "misuse")
	return func(t *testing.T, n int32) (runtime.Outcome, *recorder) {
		t.Helper()
		host := &recorder{}
		a := runtime.Attempt{Behavior: n, Params: []byte("hello"), ResultBytes: 100, CheckpointBytes: 100}
		return load(t, a, host), host
	}
}

func TestMisuseAnswers(t *testing.T) {
	run := misuse(t)
	for _, tt := range []struct {
		n    int32
		what string
		want int
	}{
		{10, "read of nothing at the end of memory", 0},
		{11, "read far behind the end of the channel", 0},
		{12, "read of more than there is", len("hello") - 2},

		{20, "len of an unknown channel", int(abi.ENOSYS)},
		{21, "len of a negative channel", int(abi.ENOSYS)},
		{22, "len of an output channel", int(abi.EINVAL)},
		{23, "len of the response before any call", int(abi.ENOENT)},
		{24, "read of an output channel", int(abi.EINVAL)},
		{25, "read of a checkpoint that is not there", int(abi.ENOENT)},
		{26, "write to an input channel", int(abi.EINVAL)},
		{27, "write to an unknown channel", int(abi.ENOSYS)},
		{28, "write of a manifest while running", int(abi.EDENIED)},

		{30, "result over the limit", int(abi.E2BIG)},
		{31, "result far over the limit", int(abi.E2BIG)},
		{32, "error detail over the limit", int(abi.E2BIG)},
		{33, "note over the limit", int(abi.E2BIG)},
		{34, "next time over the limit", int(abi.E2BIG)},
		{35, "checkpoint over the limit", int(abi.E2BIG)},

		{40, "negative progress", int(abi.EINVAL)},
		{41, "negative total", int(abi.EINVAL)},
		{42, "unknown clock", int(abi.ENOSYS)},
		{43, "negative clock", int(abi.ENOSYS)},
		{44, "unknown op", int(abi.ENOSYS)},
		{45, "random with a short payload", int(abi.EINVAL)},
		{46, "too much randomness", int(abi.E2BIG)},
		{47, "response after a failed call", int(abi.ENOENT)},

		{50, "len during start", int(abi.EDENIED)},
		{51, "read during start", int(abi.EDENIED)},
		{52, "write during start", int(abi.EDENIED)},
		{53, "beat during start", int(abi.EDENIED)},
		{54, "signals during start", 0},
		{55, "clock during start", int(abi.EDENIED)},
		{56, "call during start", int(abi.EDENIED)},
		{57, "write during _initialize", int(abi.EDENIED)},
		{58, "taskrt_run called by start", int(abi.OutcomePermanent)},

		{80, "size of a blob with a short name", int(abi.EINVAL)},
		{81, "size of a blob that is no name", int(abi.EINVAL)},
		{82, "read of a blob without numbers", int(abi.EINVAL)},
		{83, "read of too much of a blob", int(abi.E2BIG)},
		{84, "read of a blob at a negative offset", int(abi.EINVAL)},
		{85, "read of a blob that is not there", int(abi.ENOENT)},
		{86, "partitions without JSON", int(abi.EINVAL)},
		{87, "a long request", int(abi.E2BIG)},
		{88, "size of a blob during start", int(abi.EDENIED)},

		{60, "environment", 0},
		{61, "arguments", 0},
		{62, "preopened directory (EBADF)", 8},
		{63, "standard input", 0},
		{64, "growing a table without limit", -1},
		{65, "growing over the module's own maximum", -1},
		{66, "WASI: a list outside memory (EFAULT)", 21},
		{67, "WASI: a list of what is outside memory (EFAULT)", 21},
		{68, "WASI: randomness to outside memory (EFAULT)", 21},
		{69, "WASI: sizes to outside memory (EFAULT)", 21},
	} {
		t.Run(strings.ReplaceAll(tt.what, " ", "-"), func(t *testing.T) {
			out, host := run(t, tt.n)
			result(strconv.Itoa(tt.want))(t, out, host)
			if len(host.saved) != 0 || len(host.beats) != 0 || len(host.calls) > 0 && tt.n != 85 {
				t.Errorf("the host heard %v %v %v", host.saved, host.beats, host.calls)
			}
			if n := len(host.logs); n != 1 || host.logs[0] != "2 xyz" {
				t.Errorf("log is %q, want what start logged", host.logs)
			}
		})
	}
}

func TestMisusePointersTrap(t *testing.T) {
	run := misuse(t)
	for n, fn := range map[int32]string{
		0: "read", 1: "read", 2: "read", 3: "write", 4: "write", 5: "log", 6: "call", 7: "call",
		8: "log", 9: "write", 13: "read", 14: "call", 15: "write",
	} {
		out, host := run(t, n)
		if out.Kind != runtime.Failed || out.Code != runtime.CodeTrap || out.Class != runtime.ClassTrap ||
			!strings.HasPrefix(out.Message, fn+": pointer ") {
			t.Errorf("case %d: got %s, want a trap in %s", n, describe(out), fn)
		}
		if len(host.saved) != 0 {
			t.Errorf("case %d saved a checkpoint", n)
		}
	}
}

func TestMisuseLogLevels(t *testing.T) {
	_, host := misuse(t)(t, 48)
	same(t, "log", host.logs, []string{"2 xyz", "0 x", "4 y"})
}

func TestMisuseOutcomes(t *testing.T) {
	run := misuse(t)
	for _, n := range []int32{70, 71, 72} {
		out, _ := run(t, n)
		failure(false, runtime.CodeNoResult, "*")(t, out, nil)
	}
	out, _ := run(t, 73)
	result("")(t, out, nil)
	out, _ = run(t, 74)
	failure(true, runtime.CodeHandlerError, "hello")(t, out, nil)
}

// TestMisuseWASICounts: WASI computes with 32 bits; a count whose bytes would wrap around is refused as every one that is
// too large.
func TestMisuseWASICounts(t *testing.T) {
	out, _ := misuse(t)(t, 16)
	result("28")(t, out, nil) // EINVAL
}

// TestMisuseOrder: results, errors and notes in an order that no SDK would give them; taskrt_run and _initialize called by
// the guest itself.
func TestMisuseOrder(t *testing.T) {
	run := misuse(t)
	out, host := run(t, 75)
	result("xyzxy")(t, out, nil)
	same(t, "beats", host.beats, [][2]int64{{1, 2}})
	same(t, "checkpoints", host.saved, []string{"xy"})

	out, _ = run(t, 76)
	if len(out.Result) != 61 || out.Kind != runtime.Succeeded {
		t.Errorf("60 bytes, 41 and 1 of 100: got %s with %d bytes", describe(out), len(out.Result))
	}
	out, _ = run(t, 77)
	failure(false, runtime.CodeHandlerError, "")(t, out, nil)
	out, _ = run(t, 78)
	if out.Code != runtime.CodeTrap || out.HasResult {
		t.Errorf("a trap after the result: got %s", describe(out))
	}
	out, _ = run(t, 79)
	if out.Kind != runtime.Yielded || out.HasResult {
		t.Errorf("a yield after the result: got %s", describe(out))
	}
	out, _ = run(t, 90)
	noResult(t, out)
	out, _ = run(t, 91)
	ends(runtime.Yielded, 17)(t, out, nil)
	_, host = run(t, 92)
	same(t, "notes", host.notes, []string{"xy"})
	out, _ = run(t, 94)
	result("xyzxyz")(t, out, nil)
	out, _ = run(t, 95)
	result("x1")(t, out, nil)
}
