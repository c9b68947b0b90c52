package abitest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime"
)

// pieceCases are cases whose params and checkpoints lie outside the host's memory.
func pieceCases() []testCase {
	big := "pieces " + strings.Repeat("0123456789abcdef", bigParams/16)
	from := func(text string) *runtime.Source {
		return &runtime.Source{ReaderAt: strings.NewReader(text), Size: int64(len(text))}
	}
	return []testCase{
		{name: "pieces", params: big, check: result(sumOf(big))},
		{name: "pieces of nothing more", params: "pieces", check: result(sumOf("pieces"))},
		{
			name: "pieces from outside", params: "not these",
			attempt: func(a *runtime.Attempt) { a.ParamsFrom = from(big) },
			check:   result(sumOf(big)),
		},
		{
			name:    "params from outside",
			attempt: func(a *runtime.Attempt) { a.ParamsFrom = from("echo hello") },
			check:   result("hello"),
		},
		{
			name:    "empty params from outside",
			attempt: func(a *runtime.Attempt) { a.ParamsFrom = from("") },
			check:   failure(false, "unknown_case", "*"),
		},
		{
			name: "resume from outside", params: "resume",
			attempt: func(a *runtime.Attempt) { a.CheckpointFrom = from("from far") },
			check:   result("from far"),
		},
		{
			name: "a checkpoint replaces the one from outside", params: "checkpoint so far",
			attempt: func(a *runtime.Attempt) { a.CheckpointFrom = from("from far") },
			check:   result("so far"),
		},
		{
			name: "params that cannot be read", // no status: the guest must not go on
			attempt: func(a *runtime.Attempt) {
				a.ParamsFrom = &runtime.Source{ReaderAt: strings.NewReader("echo"), Size: 100}
			},
			check: func(t *testing.T, out runtime.Outcome, host *recorder) {
				failure(true, runtime.CodeHandlerError, "*")(t, out, host)
				if !strings.Contains(out.Message, "input cannot be read") {
					t.Errorf("the message is %q", out.Message)
				}
			},
		},
	}
}

// callCases are requests that the host passes on.
func callCases() []testCase {
	name := abi.BlobPrefix + strings.Repeat("0f", 32)
	other := abi.BlobPrefix + strings.Repeat("00", 32)
	stored := script{blobs: map[string]string{name: "0123456789"}}
	heard := func(want ...string) func(*testing.T, *recorder) {
		return func(t *testing.T, host *recorder) {
			t.Helper()
			same(t, "calls", host.calls, want)
		}
	}
	and := func(check func(*testing.T, runtime.Outcome, *recorder), more func(*testing.T, *recorder)) func(*testing.T, runtime.Outcome, *recorder) {
		return func(t *testing.T, out runtime.Outcome, host *recorder) {
			t.Helper()
			check(t, out, host)
			more(t, host)
		}
	}
	const page = `{"partitions":[{"index":3,"partition":"3","status":"SUCCESS","result":{"a":1}}],"next":-1}`
	const ask = `{"from":3,"limit":2}`
	cases := []testCase{
		{name: "blob-size", params: "blob-size " + name, host: stored, check: and(result("10"), heard("9 "+name))},
		{name: "blob-size of another", params: "blob-size " + other, host: stored, check: failure(false, "errno_4", "*")},
		{name: "blob-size without a name", params: "blob-size x", host: stored, check: and(failure(false, "errno_2", "*"), heard())},
		{name: "blob-read", params: "blob-read 2 3 " + name, host: stored, check: and(result("234"), heard("10 "+name+" 2 3"))},
		{name: "blob-read over the end", params: "blob-read 8 100 " + name, host: stored, check: result("89")},
		{name: "blob-read behind the end", params: "blob-read 100 5 " + name, host: stored, check: result("")},
		{name: "blob-read of another", params: "blob-read 0 5 " + other, host: stored, check: failure(false, "errno_4", "*")},
		{name: "blob-read of too much", params: fmt.Sprint("blob-read 0 ", abi.MaxResponse+1, " ", name), host: stored, check: and(failure(false, "errno_3", "*"), heard())},
		{name: "partitions", params: "partitions " + ask, host: script{partitions: page}, check: and(result(page), heard("8 "+ask))},
		{name: "partitions, not JSON", params: "partitions all", host: script{partitions: page}, check: and(failure(false, "errno_2", "*"), heard())},
		{name: "partitions, negative", params: `partitions {"from":-1}`, host: script{partitions: page}, check: and(failure(false, "errno_2", "*"), heard())},
		{name: "too long a response", params: "partitions {}", host: script{partitions: strings.Repeat("x", abi.MaxResponse+1)}, check: failure(false, "errno_3", "*")},
		{name: "the longest response", params: "partitions {}", host: script{partitions: strings.Repeat("x", resultBytes)}, check: result(strings.Repeat("x", resultBytes))},
	}
	for status, err := range map[int]error{
		1: runtime.ErrUnsupported, 2: runtime.ErrInvalid, 3: runtime.ErrTooBig, 4: runtime.ErrNotFound,
		5: errors.New("no leader"), 6: runtime.ErrDenied, 7: runtime.ErrLeaseLost,
	} {
		cases = append(cases, testCase{
			name: fmt.Sprint("status ", status), params: "partitions {}", host: script{call: err}, check: failure(false, fmt.Sprint("errno_", status), "*"),
		})
	}
	return cases
}
