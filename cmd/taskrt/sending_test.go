package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskrt/taskrt/api"
	apiclient "github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/internal/terminal"
)

// TestSendingWithoutATerminal: a transfer that takes long says so once where there is no terminal; a short one is
// silent.
func TestSendingWithoutATerminal(t *testing.T) {
	for _, c := range []struct {
		total int64
		took  int // pulses
		want  string
	}{
		{5_000_000, 1, ""},
		{5_000_000, 100, "2s  sending module.wasm  [....................] 0 % of 5000 KB\n"},
		{0, 100, "2s  sending module.wasm  0 bytes\n"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var b bytes.Buffer
			cl := &client{program: &program{stderr: terminal.New(&b)}, ctx: t.Context()}
			stop := cl.sending("module.wasm", c.total)
			time.Sleep(time.Duration(c.took)*sendingPulse + 1) // of the bubble
			stop()
			if b.String() != c.want {
				t.Errorf("%+v: %q", c, b.String())
			}
		})
	}
}

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
