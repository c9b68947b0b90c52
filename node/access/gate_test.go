package access

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	grants "github.com/taskrt/taskrt/task/access"
	"github.com/taskrt/taskrt/trust"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a node's state and its leader, as a test wants them.
type world struct {
	mu      sync.Mutex
	rev     uint64
	now     int64
	off     bool
	tokens  map[[32]byte]*Token
	finds   int
	static  Static
	leader  string
	changed chan struct{}
	asked   int    // how often the node caught up
	late    func() // what the state lacks until the node catches up
}

func newWorld() *world {
	return &world{tokens: map[[32]byte]*Token{}, leader: "n1", changed: make(chan struct{})}
}

func (w *world) Rev() uint64   { return w.rev }
func (w *world) Now() int64    { return w.now }
func (w *world) RootOff() bool { return w.off }
func (w *world) Find(hash [32]byte) *Token {
	w.finds++
	return w.tokens[hash]
}

func (w *world) Holds(number uint64) bool {
	for _, t := range w.tokens {
		if t.Number == number {
			return true
		}
	}
	return false
}

// config makes a Gate look at the world.
func (w *world) config() Config {
	return Config{
		Local:  func(fn func(Tokens)) { w.mu.Lock(); defer w.mu.Unlock(); fn(w) },
		Static: func() Static { w.mu.Lock(); defer w.mu.Unlock(); return w.static },
		CatchUp: func(context.Context) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.asked++; w.late != nil {
				w.rev++
				w.late()
				w.late = nil
			}
			return nil
		},
		Follow: func() (string, <-chan struct{}, <-chan struct{}) {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.leader, nil, w.changed
		},
	}
}

// gate makes a Gate of the world, which runs until the test ends.
func (w *world) gate(t testing.TB) *Gate {
	t.Helper()
	g := New(w.config())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); g.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return g
}

// change changes the state, as one entry of the log does.
func (w *world) change(fn func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rev++
	fn()
}

// lead says who leads now.
func (w *world) lead(addr string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.changed)
	w.leader, w.changed = addr, make(chan struct{})
}

// add makes a token, and returns its header.
func (w *world) add(number uint64, name string) string {
	drawn := trust.DrawToken()
	w.change(func() {
		w.tokens[drawn.Hash()] = &Token{Principal: auth.Principal{Number: number, Name: name, Grant: grants.Everything()}}
	})
	return "Bearer " + drawn.Text()
}

func want(t *testing.T, g *Gate, header, name, code string) {
	t.Helper()
	p, err := g.Enter(header, "192.0.2.1:5")
	switch {
	case api.CodeOf(err) != code:
		t.Errorf("code %q (%v), not %q", api.CodeOf(err), err, code)
	case code == "" && p.Name != name:
		t.Errorf("it is %s, not %s", p.Name, name)
	}
}

// TestEnter: which tokens hold, from when, and until when (SPEC A4).
func TestEnter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		g := w.gate(t)
		synctest.Wait()
		ci := w.add(2, "ci")
		want(t, g, ci, "ci", "")
		want(t, g, strings.Replace(ci, "Bearer", "bearer", 1), "ci", "")
		want(t, g, strings.Replace(ci, "Bearer", "Basic", 1), "", api.CodeUnauthenticated)
		want(t, g, ci+"x", "", api.CodeUnauthenticated)
		want(t, g, "", "", api.CodeUnauthenticated)
		want(t, g, "Bearer "+trust.DrawToken().Text(), "", api.CodeUnauthenticated)

		secret := trust.DrawToken()
		want(t, g, "Bearer "+secret.Text(), "", api.CodeUnauthenticated)
		w.mu.Lock()
		w.static.Roots = [][32]byte{trust.DrawToken().Hash(), secret.Hash()}
		w.mu.Unlock()
		want(t, g, "Bearer "+secret.Text(), auth.RootName, "")
		w.change(func() { w.off = true })
		want(t, g, "Bearer "+secret.Text(), "", api.CodeUnauthenticated)

		machine := trust.DrawToken()
		w.mu.Lock()
		w.static.Workers = [][32]byte{machine.Hash()}
		w.mu.Unlock()
		if p, err := g.Enter("Bearer "+machine.Text(), ""); err != nil || !p.Members || p.Grant.Roles != 0 {
			t.Errorf("a worker's token: %+v, %v", p, err)
		}

		w.change(func() {
			for _, x := range w.tokens {
				x.Until = 100
			}
		})
		want(t, g, ci, "ci", "")
		w.mu.Lock()
		w.now = 100 // time has passed, and nothing has changed
		w.mu.Unlock()
		want(t, g, ci, "", api.CodeUnauthenticated)
		w.change(func() { clear(w.tokens) })
		want(t, g, ci, "", api.CodeUnauthenticated)
	})
}

// TestVerdicts: what was found is remembered until a token changes, and no longer.
func TestVerdicts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		g := w.gate(t)
		synctest.Wait()
		ci := w.add(2, "ci")
		for range 10 {
			want(t, g, ci, "ci", "")
		}
		if w.finds != 1 {
			t.Errorf("looked %d times", w.finds)
		}
		w.change(func() { clear(w.tokens) })
		want(t, g, ci, "", api.CodeUnauthenticated)
	})
}

// TestWithoutLeader: for 5 s a node without a leader knows kept tokens as before; then it refuses them, and ends their calls (SPEC A4).
// What follows from the secret holds.
func TestWithoutLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		secret := trust.DrawToken()
		w.static.Roots = [][32]byte{secret.Hash()}
		w.leader = ""
		g := w.gate(t)
		ci := w.add(2, "ci")
		synctest.Wait()
		want(t, g, ci, "", api.CodeNoLeader) // it has never known one
		w.lead("n1")
		synctest.Wait()
		want(t, g, ci, "ci", "")
		w.lead("")
		synctest.Wait()
		time.Sleep(leaderless - time.Millisecond)
		want(t, g, ci, "ci", "")
		p, _ := g.Enter(ci, "")
		long, end, err := g.Long(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		defer end()
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		want(t, g, ci, "", api.CodeNoLeader)
		want(t, g, "Bearer "+secret.Text(), auth.RootName, "")
		if api.CodeOf(context.Cause(long)) != api.CodeNoLeader {
			t.Errorf("the call goes on: %v", context.Cause(long))
		}
		if err := g.Still(p); api.CodeOf(err) != api.CodeNoLeader {
			t.Errorf("%v", err)
		}
		w.lead("n2")
		synctest.Wait()
		want(t, g, ci, "ci", "")
	})
}

// TestLong: a call that waits ends with its token, and no other does (SPEC A4).
func TestLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		g := w.gate(t)
		synctest.Wait()
		a, _ := g.Enter(w.add(2, "a"), "")
		b, _ := g.Enter(w.add(3, "b"), "")
		longA, endA, errA := g.Long(t.Context(), a)
		longB, endB, errB := g.Long(t.Context(), b)
		if err := errors.Join(errA, errB); err != nil {
			t.Fatal(err)
		}
		w.change(func() {
			for hash, x := range w.tokens {
				if x.Number == 2 {
					delete(w.tokens, hash)
				}
			}
		})
		g.Changed()
		if api.CodeOf(context.Cause(longA)) != api.CodeUnauthenticated || longB.Err() != nil {
			t.Errorf("%v, %v", context.Cause(longA), longB.Err())
		}
		if err := g.Still(a); api.CodeOf(err) != api.CodeUnauthenticated {
			t.Errorf("%v", err)
		}
		if _, _, err := g.Long(t.Context(), a); api.CodeOf(err) != api.CodeUnauthenticated {
			t.Errorf("another call begins: %v", err)
		}
		endA()
		endB()
		if len(g.calls.by) != 0 {
			t.Errorf("calls are left: %v", g.calls.by)
		}
		if _, end, err := g.Long(t.Context(), nil); err != nil {
			t.Error(err)
		} else {
			end()
		}
	})
}

// TestGuesses: guesses are bounded by address, and tokens that hold pass all the same (SPEC A9).
func TestGuesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		g := w.gate(t)
		synctest.Wait()
		ci := w.add(2, "ci")
		codes := map[string]int{}
		for i := range 2 * guessBurst {
			_, err := g.Enter("Bearer "+trust.DrawToken().Text(), fmt.Sprintf("192.0.2.1:%d", 1000+i))
			codes[api.CodeOf(err)]++
		}
		if codes[api.CodeUnauthenticated] != guessBurst || codes[api.CodeRateLimited] != guessBurst {
			t.Errorf("%v", codes)
		}
		want(t, g, ci, "ci", "")
		if _, err := g.Enter("", "192.0.2.2:5"); api.CodeOf(err) != api.CodeUnauthenticated {
			t.Errorf("another address: %v", err)
		}
		time.Sleep(time.Second)
		want(t, g, "", "", api.CodeUnauthenticated)
		for i := range 3 * maxAddrs {
			_, _ = g.Enter("", fmt.Sprintf("[2001:db8:%x:%x::1]:5", i/65536, i%65536))
		}
		if n := len(g.guesses.by); n > maxAddrs {
			t.Errorf("%d addresses are remembered", n)
		}
	})
}

// TestLateToken: a token that was made at another node just now holds at once: the node catches up before it refuses a token. Whoever guesses makes it
// do so as often as an address may guess (SPEC A4, A9).
func TestLateToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		g := w.gate(t)
		synctest.Wait()
		drawn := trust.DrawToken()
		w.late = func() {
			w.tokens[drawn.Hash()] = &Token{Principal: auth.Principal{Number: 2, Name: "ci", Grant: grants.Everything()}}
		}
		want(t, g, "Bearer "+drawn.Text(), "ci", "")
		want(t, g, "Bearer "+drawn.Text(), "ci", "")
		if w.asked != 1 {
			t.Errorf("the node caught up %d times", w.asked)
		}
		for range 3 * guessBurst {
			_, _ = g.Enter("Bearer "+trust.DrawToken().Text(), "192.0.2.1:5")
			_, _ = g.Enter("Bearer trt_bad", "192.0.2.3:5")
		}
		if w.asked > guessBurst+1 {
			t.Errorf("guesses made the node catch up %d times", w.asked)
		}
	})
}

// TestOrigin: what counts as one address.
func TestOrigin(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"192.0.2.1:1", "192.0.2.1:2", true},
		{"192.0.2.1:1", "192.0.2.2:1", false},
		{"192.0.2.1:1", "[::ffff:192.0.2.1]:1", true},
		{"[2001:db8::1]:1", "[2001:db8::ffff:1]:1", true},
		{"[2001:db8:0:1::1]:1", "[2001:db8:0:2::1]:1", false},
		{"@", "", true},
	} {
		if (origin(c.a) == origin(c.b)) != c.same {
			t.Errorf("%s and %s: %v, %v", c.a, c.b, origin(c.a), origin(c.b))
		}
	}
}

// TestRate: a token has a rate of its own on a node (SPEC A9), and it is forgotten with the token.
func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		g := w.gate(t)
		synctest.Wait()
		slow, quick := w.add(2, "slow"), w.add(3, "quick")
		w.change(func() {
			for _, x := range w.tokens {
				if x.Number == 2 {
					x.Rate = 3
				}
			}
		})
		for range 3 {
			want(t, g, slow, "slow", "")
		}
		want(t, g, slow, "", api.CodeRateLimited)
		for range 10 {
			want(t, g, quick, "quick", "")
		}
		w.change(func() {}) // another change of tokens does not fill the bucket
		want(t, g, slow, "", api.CodeRateLimited)
		time.Sleep(time.Second)
		want(t, g, slow, "slow", "")
		w.change(func() { clear(w.tokens) })
		g.Changed()
		if len(g.rates) != 0 {
			t.Errorf("%v", g.rates)
		}
	})
}

// BenchmarkEnter looks up one of 100,000 tokens: remembered, and after a change.
func BenchmarkEnter(b *testing.B) {
	for _, n := range []int{10, 100_000} {
		w := newWorld()
		header := ""
		for i := range n {
			header = w.add(uint64(i+2), "token")
		}
		g := w.gate(b)
		g.alone.Store(false)
		for _, changes := range []bool{false, true} {
			b.Run(fmt.Sprintf("tokens=%d/changes=%t", n, changes), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if changes {
						w.rev++
					}
					if _, err := g.Enter(header, "192.0.2.1:5"); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
