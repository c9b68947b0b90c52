package access

import (
	"context"
	"crypto/subtle"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/task/access"
	"github.com/taskrt/taskrt/trust"
)

// Token is a token that the cluster keeps, found by one of its credentials. Values are immutable.
type Token struct {
	auth.Principal
	Rate  int64 // requests per second; 0: no limit
	Until int64 // by the log's clock, in Unix milliseconds: when this credential no longer holds; 0: it does not end
}

// Tokens are what the node's state says of tokens now.
type Tokens interface {
	// Rev changes with every change of a token, with its expiry, and when the root token is turned off or on.
	Rev() uint64
	// Now is the log's clock, in Unix milliseconds.
	Now() int64
	RootOff() bool
	// Find returns the token with a credential of this hash; nil: there is none that holds.
	Find(hash [32]byte) *Token
	// Holds reports whether the token with this number holds.
	Holds(number uint64) bool
}

// Static are the hashes of the tokens that follow from the secrets of this process.
type Static struct{ Roots, Workers [][32]byte }

// Config configures a Gate. Every field is needed.
type Config struct {
	// Local runs a function on the node's state, which holds still meanwhile.
	Local func(func(Tokens))
	// Static is asked for each request: the file with the secrets may have changed.
	Static func() Static
	// CatchUp returns when the node's state has whatever was acknowledged before the call.
	CatchUp func(context.Context) error
	// Follow names the leader, "" if none is known. changed is closed at the next news.
	Follow func() (addr string, gone, changed <-chan struct{})
}

// leaderless is how long a node without a leader takes kept tokens for what they were. Then it refuses them, because they may have been
// revoked (SPEC A4).
const leaderless = 5 * time.Second

// Bounds of catching up for tokens that this node does not know.
const (
	catchUpTime = 2 * time.Second
	maxTurns    = 16
)

// maxVerdicts bounds the tokens that are remembered between requests.
const maxVerdicts = 4096

// Gate knows who makes a request. It implements server.Gate.
type Gate struct {
	config  Config
	guesses guesses
	calls   calls
	alone   atomic.Bool   // no leader has been known for too long
	turns   chan struct{} // has an item for each request for which the node catches up

	mu       sync.Mutex
	rev      uint64                   // of the state that verdicts are of
	verdicts map[[32]byte]*Token      // what Find said
	rates    map[uint64]*rate.Limiter // by the number of a token that has a rate
}

// New makes a Gate. Kept tokens are refused until Run has seen a leader.
func New(c Config) *Gate {
	g := &Gate{config: c, turns: make(chan struct{}, maxTurns), verdicts: map[[32]byte]*Token{}, rates: map[uint64]*rate.Limiter{}}
	g.guesses.init()
	g.calls.by = map[uint64]map[*call]struct{}{}
	g.alone.Store(true)
	return g
}

// Enter returns who makes a request. It does not say what is wrong with a token. A caller without a token that holds is slowed down by address;
// tokens that hold pass from the same address all the same, because a proxy's clients share one.
func (g *Gate) Enter(authorization, addr string) (*auth.Principal, error) {
	kind, text, _ := strings.Cut(authorization, " ")
	token, err := trust.ParseToken(text)
	whole := err == nil && strings.EqualFold(kind, "Bearer")
	if whole {
		if p, err := g.known(token.Hash()); p != nil || err != nil {
			return p, err
		}
	}
	if err := g.Guess(addr); err != nil {
		return nil, err
	}
	if whole && g.catchUp() {
		if p, err := g.known(token.Hash()); p != nil || err != nil {
			return p, err
		}
	}
	return nil, auth.Unauthenticated()
}

// catchUp lets the node's state catch up with the cluster's: a token that this node does not know may have been made at another one just now. It
// reports whether it did. Guesses of tokens seldom make a node catch up, because guesses are bounded by address, and turns are bounded in all.
func (g *Gate) catchUp() bool {
	select {
	case g.turns <- struct{}{}:
		defer func() { <-g.turns }()
	default:
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), catchUpTime)
	defer cancel()
	return g.config.CatchUp(ctx) == nil
}

// Guess implements server.Gate.
func (g *Gate) Guess(addr string) error {
	if !g.guesses.allow(addr) {
		return limited("too many requests without a token that holds come from this address")
	}
	return nil
}

func limited(why string) *api.Error {
	e := api.NewError(api.CodeRateLimited, "%s; try again later", why)
	e.RetryMS = 1000
	return e
}

// known returns whose credential has a hash; nil without an error: nobody's.
func (g *Gate) known(hash [32]byte) (*auth.Principal, error) {
	static := g.config.Static()
	if contains(static.Roots, hash) {
		off := false
		g.config.Local(func(t Tokens) { off = t.RootOff() })
		if off {
			return nil, nil //nolint:nilnil // nobody
		}
		return root, nil
	}
	if contains(static.Workers, hash) {
		return worker, nil
	}
	var t *Token
	g.config.Local(func(ts Tokens) { t = g.kept(ts, hash) })
	switch {
	case g.alone.Load(): // before the look at t: a node that knows nothing must not say that a token is bad
		return nil, noLeader()
	case t == nil:
		return nil, nil //nolint:nilnil // nobody
	case !g.within(t):
		return nil, limited("the token has sent more than its rate on this node")
	}
	return &t.Principal, nil
}

// The principals whose tokens follow from secrets.
var (
	root   = &auth.Principal{Number: access.Root, Name: auth.RootName, Grant: access.Everything()}
	worker = &auth.Principal{Name: "worker", Members: true}
)

// contains looks for a hash in constant time.
func contains(all [][32]byte, hash [32]byte) bool {
	found := 0
	for i := range all {
		found |= subtle.ConstantTimeCompare(all[i][:], hash[:])
	}
	return found == 1
}

// kept is Tokens.Find, remembered until a token changes.
func (g *Gate) kept(ts Tokens, hash [32]byte) *Token {
	g.mu.Lock()
	defer g.mu.Unlock()
	if rev := ts.Rev(); rev != g.rev || len(g.verdicts) >= maxVerdicts {
		g.rev = rev
		clear(g.verdicts)
	}
	t := g.verdicts[hash]
	if t == nil {
		if t = ts.Find(hash); t != nil {
			g.verdicts[hash] = t
		}
	}
	if t != nil && t.Until != 0 && ts.Now() >= t.Until {
		return nil
	}
	return t
}

// within reports whether a token may send another request now.
func (g *Gate) within(t *Token) bool {
	if t.Rate <= 0 {
		return true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.rates[t.Number]
	if l == nil || l.Limit() != rate.Limit(t.Rate) {
		l = rate.NewLimiter(rate.Limit(t.Rate), int(t.Rate))
		g.rates[t.Number] = l
	}
	return l.Allow()
}

func noLeader() *api.Error {
	return api.NewError(api.CodeNoLeader, "this node has no leader, and cannot know which tokens hold; nothing was done")
}

// Still returns an error if the token of a principal no longer holds by the node's state as it is now. Asked after a linearizable read
// it knows of every revocation that was acknowledged before the read began (SPEC A4). nil is nobody to ask.
func (g *Gate) Still(p *auth.Principal) error {
	if p == nil || p.Members {
		return nil
	}
	holds := false
	g.config.Local(func(ts Tokens) {
		if p.Number == access.Root {
			holds = !ts.RootOff()
			return
		}
		holds = ts.Holds(p.Number)
	})
	switch {
	case !holds:
		return auth.Unauthenticated()
	case p.Number != access.Root && g.alone.Load():
		return noLeader()
	}
	return nil
}

// Changed ends the calls whose tokens no longer hold. It must be called after every change of Tokens.Rev.
func (g *Gate) Changed() {
	g.calls.end(func(number uint64) error { return g.Still(&auth.Principal{Number: number}) })
	g.config.Local(func(ts Tokens) { // the state first, then mu: as Enter does
		g.mu.Lock()
		defer g.mu.Unlock()
		for number := range g.rates {
			if !ts.Holds(number) {
				delete(g.rates, number)
			}
		}
	})
}

// Run watches whether there is a leader, until ctx ends.
func (g *Gate) Run(ctx context.Context) {
	timer := time.NewTimer(leaderless)
	defer timer.Stop()
	for had := false; ; {
		addr, _, changed := g.config.Follow()
		switch {
		case addr != "":
			had = true
			g.alone.Store(false)
		case had: // it has just gone
			had = false
			timer.Reset(leaderless)
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-timer.C:
			if addr == "" {
				g.alone.Store(true)
				g.Changed()
			}
		}
	}
}
