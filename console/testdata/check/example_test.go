package check

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestApprovals: the page of examples/external/browser, which comes from another origin, submits, works and watches over a stream by a token that
// somebody has given it. Its connection breaks in the middle. The cookie of somebody who is signed in at the console lets the page in by no way
// (SPEC A6, H5).
func TestApprovals(t *testing.T) {
	s := startSecure(t)
	s.do(t, "PUT", "/v1/behaviors/approve", `{"kind":"external","lease":"3s","cancel_grace":"1m"}`)
	person := s.token(t, `{"name":"person","roles":["submit","read","work"]}`)
	token := s.token(t, `{"name":"page","roles":["submit","read","work"],"behaviors":["approve"]}`)
	console := open(t, s.url, "tasks", wide)
	console.allow("401")
	console.fill("#token", person)
	console.press("Sign in")
	console.sees("person")

	site := httptest.NewServer(http.FileServer(http.Dir(filepath.Join(root, "examples", "external", "browser"))))
	t.Cleanup(site.Close)
	front := newFront(t, strings.TrimPrefix(s.url, "https://"))
	b := visit(t, site.URL+"/approve.html", wide)
	b.allow("WebSocket", "404") // of a refused handshake, and of favicon.ico
	b.accessible()
	begin := func(token string) {
		t.Helper()
		b.do(chromedp.Evaluate(`document.querySelector('#servers').value = `+quoted("https://127.0.0.1:1, https://"+front.addr)+`; document.querySelector('#token').value = `+quoted(token), nil))
		b.press("Begin")
	}
	for _, wrong := range []string{"", "trt_wrong"} {
		b.do(chromedp.Evaluate(`document.querySelector('#state').textContent = ''`, nil))
		begin(wrong)
		b.sees("none takes this token")
	}
	begin(token)
	b.until(`!document.querySelector('#work').hidden`)
	b.accessible()

	ask := func(question string) {
		t.Helper()
		b.fill("#question", question)
		b.press("Ask")
		b.until(`document.querySelector('#decision').checkVisibility() && document.querySelector('#asked').innerText === ` + quoted(question))
	}
	became := func(question, status, outcome string) {
		t.Helper()
		b.until(`[...document.querySelectorAll('#tasks tr')].some((r) => r.cells[0].innerText === ` + quoted(question) + ` && r.cells[1].innerText === '` + status + `' && r.cells[2].innerText.includes('` + outcome + `'))`)
	}
	ask("<b>Deploy?</b>")
	b.shot("approvals")
	b.press("Yes")
	became("<b>Deploy?</b>", "SUCCESS", "approved")

	ask("Twice?")
	front.cut() // what is under way is asked again, and the task stays with the page
	b.press("No")
	became("Twice?", "SUCCESS", "declined")

	ask("Still?")
	s.do(t, "POST", "/v1/tasks/"+s.running(t)+"/cancel", "")
	b.sees("Somebody has cancelled the question")
	became("Still?", "FAILURE", "cancelled on request")

	ask("Later?")
	b.press("Leave it to somebody else")
	b.sees("Left to somebody else")
	became("Later?", "CREATED", "")
}

// running returns the ID of the one task that runs.
func (s *secure) running(t *testing.T) string {
	t.Helper()
	b, err := ask(insecure, s.url, s.root, "GET", "/v1/tasks?status=RUNNING", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	var page struct{ Tasks []struct{ ID string } }
	if err := json.Unmarshal(b, &page); err != nil || len(page.Tasks) != 1 {
		t.Fatalf("%s: %v", b, err)
	}
	return page.Tasks[0].ID
}

// front is an address of a node whose connections a test cuts.
type front struct {
	addr, to string
	mu       sync.Mutex
	conns    []net.Conn
}

func newFront(t *testing.T, to string) *front {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &front{addr: ln.Addr().String(), to: to}
	t.Cleanup(func() { ln.Close(); f.cut() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go f.carry(c)
		}
	}()
	return f
}

func (f *front) carry(c net.Conn) {
	defer c.Close()
	to, err := net.Dial("tcp", f.to)
	if err != nil {
		return
	}
	defer to.Close()
	f.mu.Lock()
	f.conns = append(f.conns, c, to)
	f.mu.Unlock()
	go func() { _, _ = io.Copy(to, c); to.Close() }()
	_, _ = io.Copy(c, to)
}

func (f *front) cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.conns {
		c.Close()
	}
	f.conns = nil
}
