package runtime

import (
	"errors"
	"testing"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime/manifest"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	fail := manifest.Settings{OnTrap: "fail", OnTimeout: "fail", OnExhausted: "retry"}
	for _, c := range []struct {
		name     string
		settings manifest.Settings
		given    Outcome
		kind     Kind
		code     string
		retry    bool
	}{
		{"trap", manifest.Settings{}, Outcome{Kind: Failed, Class: ClassTrap, Code: CodeTrap}, Failed, CodeTrap, true},
		{"trap, fail", fail, Outcome{Kind: Failed, Class: ClassTrap, Code: CodeTrap}, Failed, CodeTrap, false},
		{"timeout", manifest.Settings{}, Outcome{Kind: Failed, Class: ClassTimeout, Code: CodeTimeout}, Failed, CodeTimeout, true},
		{"timeout, fail", fail, Outcome{Kind: Failed, Class: ClassTimeout, Code: CodeTimeout}, Failed, CodeTimeout, false},
		{"exhausted", manifest.Settings{}, Outcome{Kind: Failed, Class: ClassExhausted, Code: CodeOutOfFuel}, Failed, CodeOutOfFuel, false},
		{"exhausted, retry", fail, Outcome{Kind: Failed, Class: ClassExhausted, Code: CodeOutOfFuel}, Failed, CodeOutOfFuel, true},
		{"the guest's own", fail, Outcome{Kind: Failed, Class: ClassGuest, Code: "busy", Retryable: true}, Failed, "busy", true},
		{"end of the grace", fail, Outcome{Kind: Killed, Cause: ErrKilledCancel}, Cancelled, "", false},
		{"killed", fail, Outcome{Kind: Killed, Cause: ErrKilledStop}, Killed, "", false},
		{"result", manifest.Settings{ResultSchema: []byte(`{"type":"null"}`)}, Outcome{Kind: Succeeded}, Succeeded, "", false},
		{"wrong result", manifest.Settings{ResultSchema: []byte(`{"type":"null"}`)}, Outcome{Kind: Succeeded, HasResult: true, Result: []byte("1")}, Failed, CodeHandlerError, false},
		{"result that is no JSON", manifest.Settings{ResultSchema: []byte(`{}`)}, Outcome{Kind: Succeeded, HasResult: true, Result: []byte("a b")}, Failed, CodeHandlerError, false},
	} {
		got := Judge(&c.settings, c.given)
		if got.Kind != c.kind || got.Code != c.code || got.Retryable != c.retry {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	if got := Judge(new(manifest.Settings), Outcome{Kind: Succeeded}); string(got.Result) != "null" {
		t.Errorf("no result is %q, want null", got.Result)
	}
}

func TestAnswerBlob(t *testing.T) {
	t.Parallel()
	none := func(string) *Source { return nil }
	name := abi.BlobPrefix + Digest(nil)
	for _, c := range []struct {
		op      abi.Op
		payload string
		want    error
	}{
		{abi.OpBlobSize, name, ErrNotFound},
		{abi.OpBlobSize, "x", ErrInvalid},
		{abi.OpBlobRead, name, ErrInvalid},
		{abi.OpPartitions, "{}", ErrDenied},
	} {
		if _, err := AnswerBlob(c.op, []byte(c.payload), none); !errors.Is(err, c.want) {
			t.Errorf("op %d of %q: %v, want %v", c.op, c.payload, err, c.want)
		}
	}
}
