package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/api"
	apiclient "github.com/taskrt/taskrt/api/client"
)

// TestSentIsCounted: a push and an upload count what goes out.
func TestSentIsCounted(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"module":{},"blob":{}}`)
	}))
	defer s.Close()
	content := strings.Repeat("x", 100_000)
	sent := make(chan int64, 1000)
	cl, err := apiclient.New(apiclient.Config{URLs: []string{s.URL}, Sent: func(n int64) { sent <- n }})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	for name, send := range map[string]func() error{
		"push": func() error {
			_, err := cl.Push(t.Context(), api.PushRequest{Wasm: strings.NewReader(content)})
			return err
		},
		"blob": func() error {
			_, err := cl.PutBlob(t.Context(), api.PutBlobRequest{Body: strings.NewReader(content), Size: int64(len(content))})
			return err
		},
	} {
		if err := send(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		last := int64(0)
		for len(sent) > 0 {
			last = <-sent
		}
		if last != int64(len(content)) {
			t.Errorf("%s: %d bytes counted of %d", name, last, len(content))
		}
	}
}
