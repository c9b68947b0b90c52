package webfile_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/taskrt/taskrt/internal/webfile"
)

// TestFile: a file has a type, is sent compressed on request, and not again to who has it.
func TestFile(t *testing.T) {
	t.Parallel()
	body := bytes.Repeat([]byte("body { margin: 0 }\n"), 100)
	f, err := webfile.New("base.css", body)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(method string, headers ...string) *httptest.ResponseRecorder {
		r, w := httptest.NewRequest(method, "/", http.NoBody), httptest.NewRecorder()
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		f.ServeHTTP(w, r)
		return w
	}
	plain := ask("GET")
	if h := plain.Header(); plain.Code != 200 || !bytes.Equal(plain.Body.Bytes(), body) || h.Get("Content-Type") != "text/css; charset=utf-8" || h.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%d %v", plain.Code, h)
	}
	packed := ask("GET", "Accept-Encoding", "gzip, br")
	z, err := gzip.NewReader(packed.Body)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(z); err != nil || !bytes.Equal(b, body) || packed.Header().Get("Vary") != "Accept-Encoding" {
		t.Errorf("compressed: %v %v", err, packed.Header())
	}
	if w := ask("HEAD"); w.Code != 200 || w.Body.Len() != 0 || w.Header().Get("Content-Length") != "1900" {
		t.Errorf("HEAD: %d %v", w.Code, w.Header())
	}
	if w := ask("GET", "If-None-Match", `"x", W/`+plain.Header().Get("ETag")); w.Code != http.StatusNotModified || w.Body.Len() != 0 {
		t.Errorf("to who has it: %d", w.Code)
	}
	if w := ask("POST"); w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %d", w.Code)
	}
	if f.Packed() >= len(body) || !bytes.Equal(f.Bytes(), body) {
		t.Errorf("%d bytes", f.Packed())
	}
}
