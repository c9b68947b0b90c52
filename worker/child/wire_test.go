package child

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/taskrt/taskrt/runtime/upload"
	"github.com/taskrt/taskrt/worker"
)

// TestFailures: a child can report every failure that its parent could report.
func TestFailures(t *testing.T) {
	t.Parallel()
	refused := &upload.Error{Code: upload.TooComplex, Field: "code", Message: "too long", Limit: 60}
	for _, err := range []error{errors.New("no disk"), fmt.Errorf("%w: gone", worker.ErrNoBlob), fmt.Errorf("compile: %w", refused)} {
		text, e := json.Marshal(failureOf(err))
		var f failure
		if e = errors.Join(e, json.Unmarshal(text, &f)); e != nil {
			t.Fatal(e)
		}
		got := f.err()
		if errors.Is(got, worker.ErrNoBlob) != errors.Is(err, worker.ErrNoBlob) {
			t.Errorf("%v became %v", err, got)
		}
		want, ok := errors.AsType[*upload.Error](err)
		if r, is := errors.AsType[*upload.Error](got); is != ok || ok && *r != *want {
			t.Errorf("%v became %v", err, got)
		}
	}
}
