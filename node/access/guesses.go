package access

import (
	"net"
	"net/netip"
	"sync"

	"golang.org/x/time/rate"
)

// Requests without a token that holds are answered at this rate for each address, after a burst.
const (
	guessRate  = 5
	guessBurst = 50
	// maxAddrs bounds the addresses that are remembered. Who has more addresses than that does not need to repeat one.
	maxAddrs = 10_000
)

// guesses counts requests without a token that holds, by address.
type guesses struct {
	mu sync.Mutex
	by map[netip.Prefix]*rate.Limiter
}

func (g *guesses) init() { g.by = map[netip.Prefix]*rate.Limiter{} }

// allow reports whether another such request from an address is answered in full.
func (g *guesses) allow(addr string) bool {
	from := origin(addr)
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.by[from]
	if l == nil {
		if len(g.by) >= maxAddrs {
			g.forget()
		}
		l = rate.NewLimiter(guessRate, guessBurst)
		g.by[from] = l
	}
	return l.Allow()
}

// forget makes room: first the addresses that have been quiet, else any. It makes much at once, because it looks at all.
func (g *guesses) forget() {
	for from, l := range g.by {
		if l.Tokens() >= guessBurst {
			delete(g.by, from)
		}
	}
	for from := range g.by {
		if len(g.by) <= maxAddrs*3/4 {
			return
		}
		delete(g.by, from)
	}
}

// origin returns what counts as one address: an IPv4 address, or the 64 bits by which one line of IPv6 is known. What is no address is
// one all together.
func origin(addr string) netip.Prefix {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return netip.Prefix{}
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Prefix{}
	}
	ip = ip.Unmap().WithZone("")
	bits := 64
	if ip.Is4() {
		bits = 32
	}
	p, _ := ip.Prefix(bits) // cannot fail: there are as many bits
	return p
}
