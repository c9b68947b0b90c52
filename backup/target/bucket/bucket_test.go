package bucket_test

import (
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/taskrt/taskrt/backup/series"
	"github.com/taskrt/taskrt/backup/target/bucket"
)

// careless is a store that writes over what is there, whatever the condition of a request is.
type careless struct {
	mu      sync.Mutex
	objects map[string][]byte
	writes  int // with a condition
}

func (c *careless) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch r.Method {
	case http.MethodPut:
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if r.Header.Get("If-None-Match") == "*" {
			c.writes++
		}
		c.objects[r.URL.Path] = b
		w.Header().Set("ETag", `"e"`)
	case http.MethodGet:
		b, ok := c.objects[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, "<Error><Code>NoSuchKey</Code></Error>")
			return
		}
		w.Header().Set("ETag", `"e"`)
		w.Header().Set("Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT")
		_, _ = w.Write(b)
	}
}

// TestWritesOver: a store that does not know conditions is found out, and keeps its marker (SPEC C8).
func TestWritesOver(t *testing.T) {
	store := &careless{objects: map[string][]byte{}}
	front := httptest.NewTLSServer(store)
	defer front.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"SSL_CERT_FILE": ca, "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"} {
		t.Setenv(name, value)
	}
	b, err := bucket.Open("s3://backups/below?path_style=true&region=here&endpoint=" + front.URL)
	if err != nil {
		t.Fatal(err)
	}
	s := series.Series{Target: b, Cluster: "c1"}
	for range 2 {
		there, exclusive, err := s.Mark(t.Context(), "m")
		if there != "m" || exclusive || err != nil || store.writes == 0 {
			t.Errorf("%q, %v, %v after %d conditional writes", there, exclusive, err, store.writes)
		}
	}
	if marker, err := s.Marker(t.Context()); marker != "m" || err != nil {
		t.Errorf("%q, %v", marker, err)
	}
}

// TestOpen: what is wrong with a URL is said, and a secret in it is not shown.
func TestOpen(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"s3:///prefix":                       "names no bucket",
		"s3://key:secret@bucket":             "keys do not belong in a URL",
		"s3://bucket?secret_key=secret":      `there is no parameter "secret_key"`,
		"s3://bucket?endpoint=host:9000":     "endpoint is http://HOST:PORT",
		"s3://bucket?endpoint=http://h/path": "endpoint is http://HOST:PORT",
		"s3://bucket?path_style=maybe":       "path_style is true or false",
		"s3://buc ket":                       "invalid character",
	} {
		_, err := bucket.Open(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
		if strings.HasPrefix(text, "s3://key") && strings.Contains(fmt.Sprint(err), "secret@") {
			t.Errorf("the secret is shown: %v", err)
		}
	}
	for _, text := range []string{"s3://bucket", "s3://bucket/some/prefix?region=eu-central-1", "s3://bucket?endpoint=https://minio.example:9000&path_style=true"} {
		if b, err := bucket.Open(text); err != nil || b.String() != text || !b.Shared() {
			t.Errorf("%s: %v, %v", text, b, err)
		}
	}
}
