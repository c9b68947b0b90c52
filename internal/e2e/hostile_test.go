package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api/apitest"
)

// mayGrowMiB is how much resident memory a server process may take on while everything holds on: three times the budget
// of bodies (256 MiB, wholly used below), because what is read is decoded and garbage comes on top, and 128 MiB for
// connections and what they wait for.
const mayGrowMiB = 3*256 + 128

// TestHostileClients: clients that lie, stall, shout and hang up, against real processes. Meanwhile an honest client's
// submits all succeed, and a subscriber of its tasks sees every one become final. No process panics or logs an error, none
// answers a 5xx but the 503s of the document, and memory stays within the same bound when attacks come again.
func TestHostileClients(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.push("echo", "wait")
	pushFan(c)
	for _, name := range []string{"ext", "flood"} {
		if code, body := c.do(t.Context(), 0, "PUT", "/v1/behaviors/"+name, map[string]any{
			"kind": "external", "lease": "1h", "limits": map[string]any{"params_bytes": 64 << 10},
		}); code != http.StatusCreated {
			t.Fatalf("put %s: %d %s", name, code, body)
		}
	}
	h := &hostile{cluster: c, open: map[net.Conn]bool{}}
	t.Cleanup(h.hangUp)
	honest := startHonest(t, c)
	before := h.resident(t, "VmRSS:")
	attack := func(name string, f func(*testing.T)) {
		start := time.Now()
		f(t)
		t.Logf("%s: %v, resident at most %d MiB", name, time.Since(start).Round(time.Millisecond), h.resident(t, "VmHWM:"))
	}
	attack("tokens of sessions", h.sessionTokens)
	nonsense := h.nonsense(t)
	attack("slow clients", h.slow)
	attack("deaf subscribers", h.deaf)
	attack("large requests", h.large)
	attack("made-up requests", h.fuzz)
	attack("acceptors that hang up", h.hangingUp)
	peak := h.resident(t, "VmHWM:")
	h.hangUp()
	attack("deaf subscribers again", h.deaf)
	attack("large requests again", h.large)
	again := h.resident(t, "VmHWM:")
	t.Logf("resident: %d MiB before, at most %d MiB, the second time %d MiB", before, peak, again)
	if again > before+mayGrowMiB { // how much of that garbage takes is the collector's affair, and differs
		t.Errorf("memory: at most %d MiB more, the second time too", mayGrowMiB)
	}
	nonsense.Wait()
	honest.stop(t)
	h.hangUp()
	for _, p := range c.nodes {
		h.quiet(t, p)
	}
	c.digestsAgree()
}

// pushFan uploads a behavior for operations.
func pushFan(c *cluster) {
	c.pushAs("echo", `{"schema":1,"behaviors":[{"name":"fuzzed.fan","operation":{"complete":"fuzzed.reduce"}},{"name":"fuzzed.reduce"}]}`)
}

// honest submits through all nodes, and follows what becomes of it.
type honest struct {
	c         *cluster
	cancel    context.CancelFunc
	wg        sync.WaitGroup
	submitted int
	again     int // submits that were told to come again

	mu    sync.Mutex
	final map[string]bool
}

func startHonest(t *testing.T, c *cluster) *honest {
	ctx, cancel := context.WithCancel(t.Context())
	h := &honest{c: c, cancel: cancel, final: map[string]bool{}}
	stream, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.urls()[1]+"/v1/events?behavior=echo", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := new(http.Client).Do(stream)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("events: %v %v", res, err)
	}
	t.Cleanup(func() { res.Body.Close() })
	go h.follow(res.Body)
	h.wg.Go(func() {
		for ; ctx.Err() == nil; h.submitted++ {
			if code, body := h.submit(t.Context()); code != http.StatusCreated {
				t.Errorf("an honest submit: %d %s", code, body)
				return
			}
			<-time.After(5 * time.Millisecond)
		}
	})
	return h
}

// submit sends one submit, again and again while the answer says that there was too much at the time and when to come again: a
// machine that stood still for seconds has let a whole queue wait for too long. It gives up when there is no more patience. Such a machine
// may also have let the cluster go without a leader for long (insist).
func (h *honest) submit(ctx context.Context) (code int, body []byte) {
	request := map[string]any{"behavior": "echo", "id": fmt.Sprintf("honest-%d", h.submitted)}
	for start := time.Now(); ; h.again++ {
		code, body = h.c.insist(ctx, h.submitted%3, "POST", "/v1/tasks", request)
		var told struct {
			RetryAfter int64 `json:"retry_after_ms"`
		}
		refused := code == http.StatusTooManyRequests && json.Unmarshal(body, &told) == nil && told.RetryAfter > 0
		if !refused || time.Since(start) > patience {
			return code, body
		}
		<-time.After(time.Duration(told.RetryAfter) * time.Millisecond)
	}
}

// follow notes the tasks that are told to be final; it ends with the stream.
func (h *honest) follow(stream io.Reader) {
	for lines := bufio.NewScanner(stream); lines.Scan(); {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		var e struct{ Task *task }
		if ok && json.Unmarshal(data, &e) == nil && e.Task != nil && e.Task.Final {
			h.mu.Lock()
			h.final[e.Task.ID] = e.Task.Status == "SUCCESS"
			h.mu.Unlock()
		}
	}
}

// stop demands that all that was submitted was done, and was told.
func (h *honest) stop(t *testing.T) {
	t.Helper()
	h.cancel()
	h.wg.Wait()
	if h.submitted == 0 {
		t.Error("nothing was submitted")
	}
	h.c.eventually("the honest subscriber has seen every task become final", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.final) == h.submitted
	})
	for id, success := range h.final {
		if !success {
			t.Errorf("%s failed", id)
		}
	}
	t.Logf("%d honest submits, told %d times to come again", h.submitted, h.again)
}

// hostile has what all attackers share.
type hostile struct {
	*cluster
	mu   sync.Mutex
	open map[net.Conn]bool // kept until the end
}

// dial opens a connection that is kept, and sends something.
func (h *hostile) dial(t *testing.T, node int, send string) net.Conn {
	conn, err := net.Dial("tcp", h.nodes[node%3].http)
	if err != nil {
		t.Errorf("node %d takes no connection: %v", node%3, err)
		return nil
	}
	h.mu.Lock()
	h.open[conn] = true
	h.mu.Unlock()
	// What it does not read in time may not be taken: that is an answer too.
	_ = conn.SetDeadline(time.Now().Add(patience))
	_, _ = io.WriteString(conn, send)
	return conn
}

// drop ends a connection at once, without a farewell.
func (h *hostile) drop(conn net.Conn) {
	h.mu.Lock()
	delete(h.open, conn)
	h.mu.Unlock()
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

func (h *hostile) hangUp() {
	h.mu.Lock()
	open := h.open
	h.open = map[net.Conn]bool{}
	h.mu.Unlock()
	for conn := range open {
		h.drop(conn)
	}
	h.http.CloseIdleConnections()
}

// sessionTokens: who reads the token of a task that a node runs cannot report for it (SPEC L3).
func (h *hostile) sessionTokens(t *testing.T) {
	id := h.submit(0, map[string]any{"behavior": "wait", "params": 3_600_000}).ID
	h.runningOn(id)
	x := h.get(id, "")
	for path, body := range map[string]map[string]any{
		"/heartbeat": {"progress": "mine"}, "/finish": {"result": "mine"}, "/snooze": {},
	} {
		body["token"] = x.Lease.Token
		code, data := h.do(t.Context(), 1, "POST", "/v1/tasks/"+id+path, body)
		if code != http.StatusConflict || !bytes.Contains(data, []byte(`"not_external"`)) {
			t.Errorf("%s with a session's token: %d %s", path, code, data)
		}
	}
	part := []any{map[string]any{"id": id, "token": x.Lease.Token, "result": "mine"}}
	if code, data := h.do(t.Context(), 2, "POST", "/v1/txn", map[string]any{"finish": part}); code != http.StatusConflict {
		t.Errorf("txn with a session's token: %d %s", code, data)
	}
	if code, data := h.do(t.Context(), 2, "POST", "/v1/tasks:finish", map[string]any{"reports": part}); code != http.StatusOK || !bytes.Contains(data, []byte(`"not_external"`)) {
		t.Errorf("bulk with a session's token: %d %s", code, data)
	}
	if now := h.get(id, ""); now.Status != "RUNNING" || now.Lease == nil || now.Lease.Token != x.Lease.Token {
		t.Errorf("it was changed: %+v", now)
	}
	h.do(t.Context(), 0, "DELETE", "/v1/tasks/"+id, nil)
}

// nonsense is what is hardly HTTP: it is answered with a 4xx or a closed connection. What HTTP itself has a 5xx for,
// net/http answers before the product sees it. Some are only answered when the server's patience ends, while the others
// go on.
func (h *hostile) nonsense(t *testing.T) *sync.WaitGroup {
	wg := &sync.WaitGroup{}
	const post = "POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	many := strings.Repeat("X-A: b\r\n", 20_000)
	other := map[string]string{"HTTP/9": "505", "unknown coding": "501", "star": "200"}
	for name, text := range map[string]string{
		"zeros": strings.Repeat("\x00", 10_000), "TLS": "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "no version": "GET /\r\n\r\n",
		"HTTP/9": "GET / HTTP/9.9\r\nHost: localhost\r\n\r\n", "no host": "GET /healthz HTTP/1.1\r\n\r\n", "bad host": "GET /healthz HTTP/1.1\r\nHost: a b\x01\r\n\r\n",
		"200 KiB of path": "GET /" + strings.Repeat("x", 200<<10) + " HTTP/1.1\r\nHost: localhost\r\n\r\n", "160 KB of headers": "GET /v1/nothing HTTP/1.1\r\nHost: localhost\r\n" + many + "\r\n",
		"negative length": post + "Content-Length: -1\r\n\r\n", "length over": post + "Content-Length: 99999999999999999999\r\n\r\n",
		"two lengths": post + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", "8 EiB": post + "Content-Length: 9223372036854775807\r\n\r\n{}",
		"bad chunk": post + "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n", "huge chunk": post + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n{}",
		"unknown coding": post + "Transfer-Encoding: gzip\r\n\r\n{}", "folded": "GET /v1/nothing HTTP/1.1\r\nHost: localhost\r\nA: b\r\n c\r\n\r\n",
		"method": "BREW /v1/tasks HTTP/1.1\r\nHost: localhost\r\n\r\n", "connect": "CONNECT example.com:443 HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"absolute": "GET http://example.com/v1/nothing HTTP/1.1\r\nHost: localhost\r\n\r\n", "star": "OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"last event": "GET /v1/events HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: 99999999999999999999999\r\n\r\n",
		"long key":   post + "Idempotency-Key: " + strings.Repeat("k", 100_000) + "\r\nContent-Length: 2\r\n\r\n{}",
		"binary key": post + "Idempotency-Key: \x80\xff\r\nContent-Length: 2\r\n\r\n{}", "h2c": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	} {
		wg.Go(func() {
			conn, err := net.Dial("tcp", h.nodes[len(name)%3].http)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
			defer h.drop(conn)
			_ = conn.SetDeadline(time.Now().Add(patience))
			_, _ = io.WriteString(conn, text) // it may not be taken to the end
			line, err := bufio.NewReader(conn).ReadString('\n')
			fields := strings.Fields(line)
			if err == nil && (len(fields) < 2 || fields[1][0] != '4' && fields[1] != other[name]) {
				t.Errorf("%s: %q", name, line)
			}
			if err != nil && os.IsTimeout(err) {
				t.Errorf("%s: neither answered nor closed", name)
			}
		})
	}
	return wg
}

// slow clients hold connections by headers and bodies that never end, and answers that they do not read.
func (h *hostile) slow(t *testing.T) {
	large := strings.Repeat("x", 60_000)
	for i := range 100 { // 6 MB that the deaf ask for
		code, body := h.do(t.Context(), i%3, "POST", "/v1/tasks", map[string]any{"behavior": "ext", "id": fmt.Sprintf("large-%d", i), "params": large})
		if code != http.StatusCreated {
			t.Fatalf("submit: %d %s", code, body)
		}
	}
	for i := range 300 {
		h.dial(t, i, "POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nX-Slow: ")
		h.dial(t, i, "POST /v1/behaviors/flood/accept HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 8388608\r\n\r\n{")
		h.dial(t, i, "POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n")
	}
	for i := range 150 {
		h.dial(t, i, "GET /v1/tasks?behavior=ext&limit=1000 HTTP/1.1\r\nHost: localhost\r\n\r\n")
	}
}

// deaf subscribers never read what they asked for, which is much.
func (h *hostile) deaf(t *testing.T) {
	for i := range 150 {
		from := []string{"", "Last-Event-ID: 0\r\n", "Last-Event-ID: 1\r\n", "Last-Event-ID: 9223372036854775807\r\n"}[i%4]
		h.dial(t, i, "GET /v1/events HTTP/1.1\r\nHost: localhost\r\n"+from+"\r\n")
	}
	for i := range 40 { // the last of which each of them would have to read
		h.do(t.Context(), i%3, "POST", "/v1/txn", map[string]any{"update": []any{map[string]any{"id": fmt.Sprintf("large-%d", i), "priority": 9}}})
	}
}

// large requests, many at a time at one node, more than its budget: each is refused for its size, or as too much at a time.
func (h *hostile) large(t *testing.T) {
	body := `{"behavior":"ext","params":"` + strings.Repeat("x", 8_000_000) + `"}`
	var wg sync.WaitGroup
	var tooLarge atomic.Int64
	for range 36 { // 288 MB
		wg.Go(func() {
			conn := h.dial(t, 0, "POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "+strconv.Itoa(len(body))+"\r\n\r\n"+body)
			if conn == nil {
				return
			}
			defer h.drop(conn)
			line, err := bufio.NewReader(conn).ReadString('\n')
			switch {
			case err != nil && os.IsTimeout(err):
				t.Errorf("8 MB: no answer")
			case strings.Contains(line, " 413 "):
				tooLarge.Add(1)
			case err == nil && !strings.Contains(line, " 429 "):
				t.Errorf("8 MB: %q", line)
			}
		})
	}
	wg.Wait()
	if tooLarge.Load() == 0 {
		t.Error("8 MB: never told that it is too large")
	}
}

// fuzz sends what is made up from the document, and holds every answer against it.
func (h *hostile) fuzz(t *testing.T) {
	checker := apitest.NewDocument(t, h.urls()[0])
	checker.Hostile = true
	_, document := h.do(t.Context(), 0, "GET", "/openapi.json", nil)
	client := &http.Client{Transport: checker}
	defer client.CloseIdleConnections()
	var wg sync.WaitGroup
	for seed := range uint64(3) {
		made, err := apitest.NewHostile(document, seed)
		if err != nil {
			t.Fatal(err)
		}
		made.Names, made.IDs = []string{"ext.fuzzed", "fuzzed.fan"}, []string{"fuzzed-1", "fuzzed-2", "fuzzed-3"}
		wg.Go(func() {
			for range 10 * made.Operations() {
				h.shoot(t, client, int(seed), made.Next())
			}
		})
	}
	wg.Wait()
	checker.Report(t, false)
}

func (h *hostile) shoot(t *testing.T, client *http.Client, node int, a apitest.Attack) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second) // some ask to wait for minutes
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, a.Method, h.urls()[node]+a.Target, bytes.NewReader(a.Body))
	if err != nil {
		return // what a client cannot say at all
	}
	for name, values := range a.Header {
		req.Header[name] = values
	}
	if a.ContentType != "" {
		req.Header.Set("Content-Type", a.ContentType)
	}
	res, err := client.Do(req)
	if err != nil {
		return // headers that a client does not send, long bodies that the server did not want to the end
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusServiceUnavailable || res.StatusCode < 500 {
		return
	}
	body, _ := io.ReadAll(io.LimitReader(res.Body, 1000))
	t.Errorf("%s %.300s %.300q: %d %s", a.Method, a.Target, a.Body, res.StatusCode, body)
}

// hangingUp: thousands of acceptors that go away, while tasks come, take none of them away (SPEC J2).
func (h *hostile) hangingUp(t *testing.T) {
	const crowd, tasks = 3_000, 30
	body := `{"worker":"gone","max":10,"wait":"5m"}`
	accept := "POST /v1/behaviors/flood/accept HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
	var conns []net.Conn
	for i := range crowd {
		if conn := h.dial(t, i, accept); conn != nil {
			conns = append(conns, conn)
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for _, conn := range conns[:crowd/2] {
			h.drop(conn)
		}
	})
	for i := range tasks {
		h.submit(i%3, map[string]any{"behavior": "flood", "id": fmt.Sprintf("flood-%d", i)})
	}
	wg.Wait()
	for _, conn := range conns[crowd/2:] {
		h.drop(conn)
	}
	// Those who were there when a task came may have got it: theirs is the lease, and its loss. All others are there.
	h.eventually("the others can be had", func() bool {
		code, data := h.do(t.Context(), 1, "POST", "/v1/behaviors/flood/accept", map[string]any{"worker": "honest", "max": 100, "wait": "1s"})
		var got struct{ Tasks []task }
		if code != http.StatusOK || json.Unmarshal(data, &got) != nil {
			t.Fatalf("accept: %d %s", code, data)
		}
		for _, x := range got.Tasks {
			if x.LostCount+x.Failures > 0 {
				t.Errorf("it was counted: %+v", x)
			}
		}
		code, data = h.do(t.Context(), 2, "GET", "/v1/behaviors/flood/stats", nil)
		var stats struct{ Due, Running int }
		if code != http.StatusOK || json.Unmarshal(data, &stats) != nil || stats.Due+stats.Running != tasks {
			t.Fatalf("stats: %d %s", code, data)
		}
		return stats.Due == 0
	})
	// And nobody waits any more for those who have gone: a task finds the one who is there. What one of them was still
	// being given comes back (GIVEN_BACK, which nothing counts), and may come first.
	found := make(chan task, 1)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	wg.Go(func() {
		defer close(found)
		for ctx.Err() == nil {
			code, data := h.do(ctx, 0, "POST", "/v1/behaviors/flood/accept", map[string]any{"worker": "honest", "wait": "10s"})
			var got struct{ Tasks []task }
			if code != http.StatusOK || json.Unmarshal(data, &got) != nil {
				t.Errorf("accept: %d %s", code, data)
				return
			}
			for _, x := range got.Tasks {
				found <- x
				if !strings.HasPrefix(x.ID, "flood-") {
					return
				}
			}
		}
	})
	last := h.submit(2, map[string]any{"behavior": "flood"}).ID
	had := false
	for x := range found {
		had = had || x.ID == last
		if x.LostCount+x.Failures > 0 || x.ID != last && !strings.HasPrefix(x.ID, "flood-") {
			t.Errorf("got %+v", x)
		}
	}
	if !had {
		t.Error("the last task went to nobody")
	}
	wg.Wait()
}

// resident is the most that a line of /proc/PID/status says of any node, in MiB.
func (h *hostile) resident(t *testing.T, line string) (most int) {
	t.Helper()
	for _, p := range h.nodes {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), line)
		kib, err := strconv.Atoi(strings.Fields(rest)[0])
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, kib>>10)
	}
	return most
}

// quiet demands that a process complained about nothing.
func (h *hostile) quiet(t *testing.T, p *process) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(p.dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "the guests' process has ended") && strings.Contains(line, "stopped, or starved") {
			continue // the machine stood still for longer than a lease
		}
		if strings.Contains(line, "panic") || strings.Contains(line, "level=ERROR") || strings.Contains(line, "goroutine ") {
			t.Errorf("%s: %s", p.id, line)
		}
	}
}
