package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/taskrt/taskrt/internal/leash"
)

// proxy carries bytes to an address, each of them later by a delay. The kernel of the house's machines has no netem.
type proxy struct {
	ln    net.Listener
	to    string
	delay time.Duration
	open  sync.Map // of net.Conn
}

func newProxy(to string, delay time.Duration) (*proxy, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{ln: ln, to: to, delay: delay}
	go p.serve()
	return p, nil
}

func (p *proxy) addr() string { return p.ln.Addr().String() }

func (p *proxy) close() {
	_ = p.ln.Close()
	p.open.Range(func(c, _ any) bool { _ = c.(net.Conn).Close(); return true })
}

func (p *proxy) serve() {
	for {
		in, err := p.ln.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", p.to)
		if err != nil {
			_ = in.Close()
			continue
		}
		p.open.Store(in, nil)
		p.open.Store(out, nil)
		go p.carry(in, out)
		go p.carry(out, in)
	}
}

// piece is what was read at once.
type piece struct {
	data []byte
	due  time.Time
}

// carry reads at once, and writes later.
func (p *proxy) carry(from, to net.Conn) {
	pieces := make(chan piece, 4096)
	go func() {
		for piece := range pieces {
			time.Sleep(time.Until(piece.due))
			if _, err := to.Write(piece.data); err != nil {
				_ = from.Close()
			}
		}
		_ = to.Close()
		p.open.Delete(to)
	}()
	defer close(pieces)
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			pieces <- piece{append([]byte(nil), buf[:n]...), time.Now().Add(p.delay)}
		}
		if err != nil {
			return
		}
	}
}

// hosts are network namespaces on one bridge, as in internal/linear. What each sends is limited to a rate.
type hosts struct {
	prefix, net string
	count       int
}

func newHosts(count int, mbit float64) (*hosts, error) {
	n := rand.IntN(1 << 16)
	h := &hosts{prefix: fmt.Sprintf("trs%04x", n), net: fmt.Sprintf("10.%d.%d.", 128+n>>10, n>>2&255), count: count}
	commands := []string{"ip link add NAME type bridge", "ip addr add NET254/24 dev NAME", "ip link set NAME up"}
	for i := 1; i <= count; i++ {
		for _, c := range []string{
			"ip netns add NAMEhI", "ip link add NAMEvI type veth peer name eth0 netns NAMEhI", "ip link set NAMEvI master NAME up",
			"ip -n NAMEhI addr add NETI/24 dev eth0", "ip -n NAMEhI link set eth0 up", "ip -n NAMEhI link set lo up",
			fmt.Sprintf("tc -n NAMEhI qdisc add dev eth0 root tbf rate %gmbit burst 64kb latency 200ms", mbit),
		} {
			commands = append(commands, strings.ReplaceAll(c, "I", fmt.Sprint(i)))
		}
	}
	for _, c := range commands {
		if err := h.run(c); err != nil {
			_ = h.close()
			return nil, err
		}
	}
	return h, nil
}

func (h *hosts) run(command string) error {
	words := strings.Fields(strings.NewReplacer("NAME", h.prefix, "NET", h.net).Replace(command))
	out, err := leash.Command(words[0], words[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(words, " "), err, out)
	}
	return nil
}

func (h *hosts) name(i int) string       { return fmt.Sprintf("%sh%d", h.prefix, i+1) }
func (h *hosts) addr(i, port int) string { return fmt.Sprintf("%s%d:%d", h.net, i+1, port) }

// sent is how many bytes a host has sent.
func (h *hosts) sent(i int) (float64, error) {
	out, err := leash.Command("ip", "-n", h.name(i), "-s", "-j", "link", "show", "eth0").Output()
	if err != nil {
		return 0, err
	}
	var links []struct {
		Stats struct {
			TX struct {
				Bytes float64 `json:"bytes"`
			} `json:"tx"`
		} `json:"stats64"`
	}
	if err := json.Unmarshal(out, &links); err != nil || len(links) == 0 {
		return 0, fmt.Errorf("ip link: %w: %s", err, out)
	}
	return links[0].Stats.TX.Bytes, nil
}

func (h *hosts) close() error {
	var first error
	for i := range h.count {
		if err := h.run("ip netns del " + h.name(i)); err != nil && first == nil {
			first = err
		}
	}
	if err := h.run("ip link del NAME"); err != nil && first == nil {
		first = err
	}
	return first
}
