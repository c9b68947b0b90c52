package server_test

import (
	"bufio"
	"bytes"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/server"
)

// TestModuleOfTheLimit: a module of 32 MiB is looked at. A module of a byte more is not, however it is sent (SPEC B2).
func TestModuleOfTheLimit(t *testing.T) {
	s := newServer(t, server.Config{})
	zeros := make([]byte, api.MaxModule+1)
	for size, want := range map[int]int{api.MaxModule: 422, api.MaxModule + 1: 413} {
		if a := s.do("POST", "/v1/modules?name=apitest.big", string(zeros[:size]), "Content-Type", "application/wasm"); a.status != want {
			t.Errorf("%d bytes: %d %s, want %d", size, a.status, a.body, want)
		}
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		p, _ := w.CreateFormField("module")
		_, _ = p.Write(zeros[:size])
		_ = w.Close()
		a := s.do("POST", "/v1/modules?name=apitest.big", b.String(), "Content-Type", w.FormDataContentType())
		if a.status != want || want == 413 && a.problem.Field != "module" {
			t.Errorf("%d bytes in a part: %d %s, want %d", size, a.status, a.body, want)
		}
	}
}

// TestBodyOfUnknownLength: before a byte of it is read, a body of unknown length counts with as many bytes as it may have (SPEC
// H3).
func TestBodyOfUnknownLength(t *testing.T) {
	s := newServer(t, server.Config{BodyBytes: 1000})
	send := func(body io.Reader) answer {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.http.URL+"/v1/tasks", body)
		if err != nil {
			t.Fatal(err)
		}
		return s.send(req)
	}
	s.want(send(io.MultiReader(strings.NewReader("{}"))), 429, "overloaded", "")
	s.want(send(strings.NewReader("{}")), 400, "invalid_field", "behavior")
}

// TestAnnouncedBodies: a client that announces much and sends nothing keeps nobody out. The bytes that are sent are bounded as
// they come.
func TestAnnouncedBodies(t *testing.T) {
	s := newServer(t, server.Config{BodyBytes: 1 << 20})
	for range 10 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.http.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		_, err = conn.Write([]byte("POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 8388608\r\nExpect: 100-continue\r\n\r\n"))
		if err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
			t.Fatalf("%q, %v", line, err) // with this line the server begins to read the body
		}
	}
	s.want(s.do("POST", "/v1/tasks", strings.Repeat(" ", 100<<10)), 400, "invalid_json", "")
	s.want(s.do("POST", "/v1/tasks", strings.Repeat(" ", 400<<10)), 429, "overloaded", "")
	s.want(s.do("POST", "/v1/tasks", strings.Repeat(" ", 100<<10)), 400, "invalid_json", "")
}

// TestBodiesOfAnySize: a body arrives whole, in whatever pieces it comes.
func TestBodiesOfAnySize(t *testing.T) {
	s := newServer(t, server.Config{BodyBytes: 24 << 20})
	for _, n := range []int{64<<10 - 1, 64 << 10, 64<<10 + 1, 128<<10 + 1, 1 << 20, api.MaxBody} {
		body := `{"behavior":"apitest.ok"` + strings.Repeat(" ", n-25) + `}`
		for name, r := range map[string]io.Reader{"known": strings.NewReader(body), "unknown": io.MultiReader(strings.NewReader(body))} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.http.URL+"/v1/tasks", r)
			if err != nil {
				t.Fatal(err)
			}
			if a := s.send(req); a.status != 201 {
				t.Errorf("%d bytes, length %s: %d %s", n, name, a.status, a.body)
			}
		}
	}
}

// TestBatchTakesRoom: short tasks take more memory than their text has bytes. A batch of them counts by the memory that it
// takes.
func TestBatchTakesRoom(t *testing.T) {
	s := newServer(t, server.Config{BodyBytes: 1 << 20})
	for name, item := range map[string]string{"plain": `{"behavior":"nobody"}`, "not plain": `{"behavi\u006fr":"nobody"}`} {
		batch := func(n int) string { return `{"tasks":[` + strings.Repeat(item+",", n-1) + item + `]}` }
		for range 3 { // each request gives back the room that it took
			if a := s.do("POST", "/v1/tasks", batch(900)); a.status != 200 {
				t.Errorf("%s: 900 tasks: %d %.200s", name, a.status, a.body)
			}
			s.want(s.do("POST", "/v1/tasks", batch(1100)), 429, "overloaded", "")
		}
	}
}
