package e2e

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// strangersMayTakeMiB is how much resident memory a node may take on while strangers stand at its port for clients, whatever their number:
// 64 KiB for each of the 1,024 that may wait, as much again twice for the garbage of their handshakes, and 64 MiB for the load.
const strangersMayTakeMiB = 3*64 + 64

// TestStrangersAtTheDoor: thousands of connections that say nothing, half a handshake, a handshake that they do not end, or half a header,
// from few addresses and from thousands, at the leader's port for clients. Those that are too many are closed, counted and logged. All the
// while submits through every node succeed, nobody else comes to lead, and memory stays bounded (SPEC A9).
func TestStrangersAtTheDoor(t *testing.T) {
	t.Parallel()
	secret, _ := drawSecret(t)
	c := newCluster(t, "--cluster-secret", secret)
	c.push("wordcount")
	load := startLoad(t, c)
	load.progress()
	var before []int
	for _, p := range c.nodes {
		before = append(before, p.resident("VmRSS:"))
	}
	hello := clientHello(t)
	few := func(i int) string { return fmt.Sprintf("127.9.0.%d", i%4+1) }
	many := func(i int) string { return fmt.Sprintf("127.8.%d.%d", i/250%250, i%250+1) }
	for _, kind := range []strangers{
		{"silent", few, func(c net.Conn) net.Conn { return c }},
		{"half a handshake", few, func(c net.Conn) net.Conn { return saying(c, hello[:len(hello)/2]) }},
		{"a handshake without an end", few, func(c net.Conn) net.Conn { return saying(c, hello) }},
		{"handshakes from everywhere", many, func(c net.Conn) net.Conn { return saying(c, hello) }},
		{"half a header", few, func(c net.Conn) net.Conn {
			safe := tls.Client(c, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // a stranger
			return saying(safe, []byte("GET /v1/tasks HTTP/1.1\r\nHost: local"))
		}},
	} {
		c.tries(kind.name, func(int) string { return c.crowd(load, kind) })
	}
	load.progress()
	load.stop()
	load.allDone()
	for i, p := range c.nodes {
		if after := p.resident("VmHWM:"); after > before[i]+strangersMayTakeMiB {
			t.Errorf("%s, resident: %d MiB before, at most %d MiB", p.id, before[i], after)
		}
		if c.dropped(i) > 0 && p.says("closed a connection to the port for clients") == 0 {
			t.Errorf("%s logs nothing of it", p.id)
		}
	}
}

// strangers are connections to the port for clients.
type strangers struct {
	name string
	from func(int) string        // address of the i-th
	say  func(net.Conn) net.Conn // what each says
}

// crowd has strangers come to the leader until too many are closed, and says how the cluster was disturbed by it; "" if it was not.
func (c *cluster) crowd(load *load, kind strangers) (disturbed string) {
	c.t.Helper()
	watch, at := c.watchLeader(), c.leader()
	had, late := c.dropped(at), time.After(20*time.Second)
	var conns []net.Conn
	more := func(n int) {
		for range n {
			d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(kind.from(len(conns)))}, Timeout: patience}
			conn, err := d.DialContext(c.t.Context(), "tcp", c.nodes[at].http)
			if err != nil {
				c.t.Fatal(err)
			}
			_ = conn.SetDeadline(time.Now().Add(patience))
			conns = append(conns, kind.say(conn))
		}
	}
	for range 8 { // who comes meanwhile is through before 1,024 more have come
		more(250)
		load.progress()
	}
	c.eventually("too many are closed", func() bool {
		select {
		case <-late: // on a slow machine the first ones end by time, before there are too many
			return true
		default:
		}
		if c.dropped(at) > had {
			return true
		}
		if len(conns) < 10_000 {
			more(500)
		}
		return false
	})
	load.progress()
	c.t.Logf("%s: %d closed, resident at most %d MiB", kind.name, c.dropped(at)-had, c.nodes[at].resident("VmHWM:"))
	for _, conn := range conns {
		conn.Close()
	}
	return watch()
}

// saying writes, unless the other end has hung up.
func saying(c net.Conn, text []byte) net.Conn {
	_, _ = c.Write(text)
	return c
}

// clientHello is the first message of a handshake.
func clientHello(t *testing.T) []byte {
	near, far := net.Pipe()
	defer far.Close()
	go func() {
		_ = tls.Client(near, &tls.Config{ServerName: "localhost"}).HandshakeContext(t.Context())
		near.Close()
	}()
	head := make([]byte, 5)
	if _, err := io.ReadFull(far, head); err != nil {
		t.Fatal(err)
	}
	body := make([]byte, int(head[3])<<8|int(head[4]))
	if _, err := io.ReadFull(far, body); err != nil {
		t.Fatal(err)
	}
	return slices.Concat(head, body)
}

// dropped is how many connections a node says that it has closed because too many waited.
func (c *cluster) dropped(node int) int {
	c.t.Helper()
	var text []byte
	c.eventually("metrics are answered", func() (ok bool) {
		var code int
		code, text = c.do(c.t.Context(), node, http.MethodGet, "/metrics", nil)
		return code == http.StatusOK
	})
	_, rest, found := bytes.Cut(text, []byte("\ntaskrt_http_connections_dropped_total{reason=\"waiting\"} "))
	value, _, _ := strings.Cut(string(rest), "\n")
	n, err := strconv.ParseFloat(value, 64)
	if !found || err != nil {
		c.t.Fatalf("no such metric: %v", err)
	}
	return int(n)
}

// resident is what a line of /proc/PID/status says of a process, in MiB.
func (p *process) resident(line string) int {
	p.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), line)
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		p.t.Fatal(err)
	}
	return kib >> 10
}
