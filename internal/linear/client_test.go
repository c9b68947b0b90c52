package linear

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/taskrt/taskrt/internal/idle"
)

// attemptTimeout is how long a caller waits for one answer. keyedFor is how long it repeats a request with an
// idempotency key while the outcome is unknown.
const (
	attemptTimeout = 3 * time.Second
	keyedFor       = 20 * time.Second
)

func newHTTPClient() *http.Client {
	return &http.Client{Timeout: attemptTimeout, Transport: &http.Transport{
		DialContext: (&net.Dialer{Timeout: time.Second}).DialContext, MaxIdleConnsPerHost: 16,
	}}
}

// verdict says what is known of a request.
type verdict int

const (
	known   verdict = iota // it was answered: it happened, or was refused
	nothing                // it certainly did nothing, and nothing was learned
	unknown                // it may have happened, or may still happen
)

// answer is the answer to a request.
type answer struct {
	status int
	body   []byte
}

func (a answer) code() string {
	var p struct{ Code string }
	_ = json.Unmarshal(a.body, &p)
	return p.Code
}

// send makes one request to one node.
func (c *cluster) send(ctx context.Context, node int, method, path, key string, body any) (answer, verdict) {
	var r io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			panic(err)
		}
		r = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+c.lab.addr(node, 0)+path, r)
	if err != nil {
		panic(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if dial := (*net.OpError)(nil); errors.As(err, &dial) && dial.Op == "dial" {
			return answer{}, nothing
		}
		return answer{}, unknown
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return answer{}, unknown
	}
	a := answer{resp.StatusCode, b}
	switch {
	case resp.StatusCode == http.StatusTooManyRequests:
		return a, nothing
	case resp.StatusCode < 500:
		return a, known
	case a.code() == "no_leader" || a.code() == "not_ready":
		return a, nothing
	}
	return a, unknown
}

// request sends a request until something is known of it. It repeats the request only where this is harmless: with an
// idempotency key, when the caller says so, or when nothing happened.
func (c *cluster) request(ctx context.Context, r *rand.Rand, method, path, key string, body any, harmless ...bool) (answer, verdict) {
	node := r.IntN(hosts)
	begun, doubt := time.Now(), false
	for {
		a, v := c.send(ctx, node, method, path, key, body)
		doubt = doubt || v == unknown
		switch {
		case v == known:
			return a, known
		case key == "" && doubt && len(harmless) == 0:
			return a, unknown
		case time.Since(begun) > keyedFor || !idle.For(ctx, 50*time.Millisecond):
			if doubt {
				return a, unknown
			}
			return a, nothing
		}
		node = (node + 1) % hosts
	}
}

// history is what the callers of one cell did. Its operations are checked together, and without other cells'
// operations.
type history struct {
	mu      sync.Mutex
	ops     []porcupine.Operation
	unknown int
	wrong   error // an answer that no rule allows, whatever the order
}

// refute notes an answer that no rule allows.
func (h *history) refute(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.wrong == nil {
		h.wrong = fmt.Errorf(format, args...)
	}
}

// forever is the return time of an operation without an answer. The operation may take effect at any time after its
// call.
const forever = int64(1) << 62

// record runs an operation and keeps what is known of it. do returns the output, which counts only if the verdict is
// known. An operation that only reads is dropped if there is no answer. record asks for the input when do has ended.
func (h *history) record(client int, start time.Time, input func() any, reads bool, do func() (output any, v verdict)) {
	call := time.Since(start)
	output, v := do()
	op := porcupine.Operation{ClientId: client, Input: input(), Call: int64(call), Output: output, Return: int64(time.Since(start))}
	if v == nothing || v == unknown && reads {
		return
	}
	if v == unknown {
		op.Output, op.Return = nil, forever
	}
	h.keep(op)
}

func (h *history) keep(op porcupine.Operation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, op)
	if op.Return == forever {
		h.unknown++
	}
}

// lost keeps an operation whose outcome nobody will tell.
func (h *history) lost(client int, call time.Duration, input any) {
	h.keep(porcupine.Operation{ClientId: client, Input: input, Call: int64(call), Return: forever})
}

// maybe keeps an operation that is over and whose outcome nobody was told.
func (h *history) maybe(client int, call, end time.Duration, input any) {
	h.keep(porcupine.Operation{ClientId: client, Input: input, Call: int64(call), Return: int64(end)})
}

func (h *history) size() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.ops)
}

// keyFor draws an idempotency key for most requests. The other requests test the model of unknown outcomes.
func keyFor(r *rand.Rand) string {
	if r.IntN(4) == 0 {
		return ""
	}
	return fmt.Sprintf("k-%016x", r.Uint64())
}

// decode reads a JSON answer. The answer must be JSON.
func decode[T any](a answer) T {
	var v T
	if err := json.Unmarshal(a.body, &v); err != nil {
		panic(fmt.Sprintf("%d %s: %v", a.status, a.body, err))
	}
	return v
}
