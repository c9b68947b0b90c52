package server_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/server"
)

// blobOf puts a file and returns its digest as the API shows it.
func (s *site) blobOf(data string) string {
	s.t.Helper()
	b, err := s.fake.PutBlob(s.t.Context(), api.PutBlobRequest{Body: strings.NewReader(data), Size: -1})
	if err != nil {
		s.t.Fatal(err)
	}
	return b.Digest
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// TestBlobRanges: ranges and conditions work as RFC 9110, sections 13 and 14, says. Errors are problems.
func TestBlobRanges(t *testing.T) {
	s := newServer(t, server.Config{})
	const file = "0123456789"
	digest := s.blobOf(file)
	empty := s.blobOf("")
	etag := `"` + digest + `"`
	many := "bytes=" + strings.TrimSuffix(strings.Repeat("0-0,", 17), ",")
	for _, c := range []struct {
		header, value string
		status        int
		body, ranged  string // Content-Range
	}{
		{"Range", "bytes=0-0", 206, "0", "bytes 0-0/10"},
		{"Range", "bytes=3-5", 206, "345", "bytes 3-5/10"},
		{"Range", "bytes=7-", 206, "789", "bytes 7-9/10"},
		{"Range", "bytes=-2", 206, "89", "bytes 8-9/10"},
		{"Range", "bytes=8-100", 206, "89", "bytes 8-9/10"},
		{"Range", "bytes=0-9", 206, file, "bytes 0-9/10"},
		{"Range", many, 200, file, ""},
		{"Range", "lines=1-2", 200, file, ""},
		{"Range", "bytes=10-", 416, "", "bytes */10"},
		{"Range", "bytes=5-2", 416, "", ""},
		{"If-None-Match", etag, 304, "", ""},
		{"If-None-Match", `"x", W/` + etag, 304, "", ""},
		{"If-None-Match", "*", 304, "", ""},
		{"If-None-Match", `"x"`, 200, file, ""},
		{"If-Match", etag, 200, file, ""},
		{"If-Match", `"x"`, 412, "", ""},
	} {
		a := s.do("GET", "/v1/blobs/"+digest, "", c.header, c.value)
		if a.status != c.status || a.header.Get("Content-Range") != c.ranged {
			t.Errorf("%s %s: %d, Content-Range %q", c.header, c.value, a.status, a.header.Get("Content-Range"))
		}
		switch {
		case c.status == 416:
			s.want(a, 416, api.CodeNoRange, "Range")
		case c.status == 412:
			s.want(a, 412, api.CodePrecondition, "If-Match")
		case a.body != c.body:
			t.Errorf("%s %s: %q", c.header, c.value, a.body)
		}
		if c.status < 400 && a.header.Get("ETag") != etag {
			t.Errorf("%s %s: ETag %s", c.header, c.value, a.header.Get("ETag"))
		}
	}
	if a := s.do("GET", "/v1/blobs/"+digest, "", "Range", "bytes=2-3", "If-Range", etag); a.status != 206 || a.body != "23" {
		t.Errorf("If-Range: %d %q", a.status, a.body)
	}
	if a := s.do("GET", "/v1/blobs/"+digest, "", "Range", "bytes=2-3", "If-Range", `"x"`); a.status != 200 || a.body != file {
		t.Errorf("If-Range of another: %d %q", a.status, a.body)
	}
	a := s.do("GET", "/v1/blobs/"+digest, "", "Range", "bytes=0-1,8-9")
	if a.status != 206 || !strings.HasPrefix(a.header.Get("Content-Type"), "multipart/byteranges") ||
		!strings.Contains(a.body, "bytes 0-1/10\r\n") || !strings.Contains(a.body, "\r\n\r\n89\r\n") {
		t.Errorf("two ranges: %d %s %q", a.status, a.header.Get("Content-Type"), a.body)
	}
	for _, c := range []struct{ digest, size string }{{digest, "10"}, {empty, "0"}, {strings.TrimPrefix(digest, "sha256:"), "10"}} {
		a := s.do("HEAD", "/v1/blobs/"+c.digest, "")
		if a.status != 200 || a.header.Get("Content-Length") != c.size || a.header.Get("Accept-Ranges") != "bytes" ||
			a.header.Get("Content-Type") != "application/octet-stream" || a.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("HEAD %s: %d %v", c.digest, a.status, a.header)
		}
	}
	if a := s.do("GET", "/v1/blobs/"+empty, "", "Range", "bytes=0-"); a.status != 200 || a.body != "" {
		t.Errorf("a range of nothing: %d %q", a.status, a.body)
	}
}

func TestBlobsOverHTTP(t *testing.T) {
	s := newServer(t, server.Config{})
	absent := digestOf([]byte("absent"))
	a := s.do("POST", "/v1/blobs?digest="+digestOf([]byte("file")), "file", "Content-Type", "text/plain")
	if want := fmt.Sprintf(`{"blob":{"digest":%q,"size":4,"refs":0}}`, digestOf([]byte("file"))); a.status != 200 || strings.TrimSpace(a.body) != want {
		t.Errorf("put: %d %s", a.status, a.body)
	}
	if b := s.do("GET", "/v1/blobs/"+digestOf([]byte("file"))+"/info", ""); b.status != 200 || b.body != a.body {
		t.Errorf("info: %d %s", b.status, b.body)
	}
	s.want(s.do("POST", "/v1/blobs?digest="+absent, "file"), 422, api.CodeDigestMismatch, "digest")
	s.want(s.do("POST", "/v1/blobs?digest=abc", "file"), 400, api.CodeInvalidField, "digest")
	s.want(s.do("POST", "/v1/blobs?namespace=x", "file"), 400, api.CodeUnknownField, "namespace")
	s.want(s.do("GET", "/v1/blobs/"+absent, ""), 404, api.CodeBlobNotFound, "")
	s.want(s.do("GET", "/v1/blobs/"+absent+"/info", ""), 404, api.CodeBlobNotFound, "")
	s.want(s.do("GET", "/v1/blobs/abc", ""), 400, api.CodeInvalidField, "digest")
	s.want(s.do("GET", "/v1/blobs/..%2f..%2fetc%2fpasswd", ""), 404, api.CodeNotFound, "")
	s.want(s.do("GET", "/v1/blobs/"+absent+"?x=1", ""), 400, api.CodeUnknownField, "x")
	s.want(s.do("PUT", "/v1/blobs", "x"), 405, api.CodeMethodNotAllowed, "")
	s.want(s.do("POST", "/v1/blobs", "x", "Sec-Fetch-Site", "cross-site", "Content-Type", "text/plain"), 403, api.CodeCrossOrigin, "")
	s.want(s.do("DELETE", "/v1/blobs/"+absent, ""), 405, api.CodeMethodNotAllowed, "")
	res, err := s.http.Client().Head(s.http.URL + "/v1/blobs/" + absent)
	if err != nil {
		t.Fatal(err)
	}
	if _ = res.Body.Close(); res.StatusCode != http.StatusNotFound {
		t.Errorf("HEAD: %d", res.StatusCode)
	}
	// A key means nothing: equal bytes are one blob anyway, and other bytes are not a repeat.
	for _, data := range []string{"one", "two"} {
		if a := s.do("POST", "/v1/blobs", data, "Idempotency-Key", "k"); a.status != 200 || !strings.Contains(a.body, digestOf([]byte(data))) {
			t.Errorf("put %s with a key: %d %s", data, a.status, a.body)
		}
	}
}

// TestBlobOfTheLimit: a file of 32 MiB is taken. A file of a byte more is not, however it is sent.
func TestBlobOfTheLimit(t *testing.T) {
	s := newServer(t, server.Config{})
	for _, announced := range []bool{true, false} {
		for _, n := range []int64{api.MaxBlob, api.MaxBlob + 1} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.http.URL+"/v1/blobs", io.LimitReader(zeros{}, n))
			if err != nil {
				t.Fatal(err)
			}
			if announced {
				req.ContentLength = n
			}
			a := s.send(req)
			if n > api.MaxBlob {
				s.want(a, 413, api.CodeTooLarge, "body")
				if a.problem.Limit != api.MaxBlob {
					t.Errorf("limit %d", a.problem.Limit)
				}
			} else if a.status != 200 {
				t.Errorf("announced %v: %d %s", announced, a.status, a.body)
			}
		}
	}
}

// conn is a connection over which a test speaks HTTP by hand.
func (s *site) conn() net.Conn {
	s.t.Helper()
	c, err := net.Dial("tcp", s.http.Listener.Addr().String())
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Close() })
	return c
}

func (s *site) response(c net.Conn) answer {
	s.t.Helper()
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer{status: res.StatusCode, header: res.Header, body: string(b)}
}

// TestUploadsThatBreakOff: half a file is refused and not stored. The server does not wait for a client that sends nothing.
func TestUploadsThatBreakOff(t *testing.T) {
	s := newServer(t, server.Config{BodyTimeout: 100 * time.Millisecond})
	half := strings.Repeat("half", 1000)
	for name, c := range map[string]struct {
		text  string
		close bool
	}{
		"less than announced":  {"Content-Length: 10000\r\n\r\n" + half, true},
		"chunked, no end":      {"Transfer-Encoding: chunked\r\n\r\n" + strconv.FormatInt(4000, 16) + "\r\n" + half + "\r\n", true},
		"chunked, broken":      {"Transfer-Encoding: chunked\r\n\r\n" + strconv.FormatInt(4000, 16) + "\r\n" + half + "\r\nzz\r\n", false},
		"nothing more, silent": {"Content-Length: 10000\r\n\r\n" + half, false},
	} {
		conn := s.conn()
		if _, err := io.WriteString(conn, "POST /v1/blobs HTTP/1.1\r\nHost: localhost\r\n"+c.text); err != nil {
			t.Fatal(err)
		}
		if c.close {
			_ = conn.(*net.TCPConn).CloseWrite()
		}
		if a := s.response(conn); a.status != 400 || !strings.Contains(a.body, `"bad_request"`) {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
		s.want(s.do("GET", "/v1/blobs/"+digestOf([]byte(half)), ""), 404, api.CodeBlobNotFound, "")
	}
}

// TestUploadThatTrickles: an upload of a byte now and then is ended, too.
func TestUploadThatTrickles(t *testing.T) {
	s := newServer(t, server.Config{BodyTimeout: 100 * time.Millisecond})
	body, feed := io.Pipe()
	defer body.Close()
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for range tick.C {
			if _, err := feed.Write([]byte{'x'}); err != nil {
				return
			}
		}
	})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.http.URL+"/v1/blobs", body)
	if err != nil {
		t.Fatal(err)
	}
	res, err := s.http.Client().Do(req)
	if err == nil {
		_ = res.Body.Close()
	}
	_ = body.Close()
	if err == nil && res.StatusCode != http.StatusBadRequest { // what matters is that the upload ends
		t.Errorf("%v", res)
	}
}

// TestTooManyUploads: uploads that wait for their clients are bounded, and do not keep other requests out.
func TestTooManyUploads(t *testing.T) {
	s := newServer(t, server.Config{})
	const most = 64
	for range most {
		conn := s.conn()
		if _, err := io.WriteString(conn, "POST /v1/blobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		// The server says 100 when it begins to read.
		if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, "100") {
			t.Fatalf("%q, %v", line, err)
		}
	}
	a := s.do("POST", "/v1/blobs", "x")
	s.want(a, 429, api.CodeOverloaded, "")
	if a.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	if a := s.do("POST", "/v1/tasks", `{"behavior":"apitest.ok"}`); a.status != 201 {
		t.Errorf("submit: %d %s", a.status, a.body)
	}
}
