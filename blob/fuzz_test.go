package blob

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/taskrt/taskrt/internal/mux"
)

// FuzzServe: what a peer says on the port of files: the connection ends, and a worker leaves no file.
func FuzzServe(f *testing.F) {
	digest := make([]byte, 32)
	for op := range byte(9) {
		f.Add(append([]byte{op}, digest...))
		f.Add(append(append([]byte{op}, digest...), 0, 0, 0, 0, 0, 0, 0, 1, 'x'))
		f.Add(append(append([]byte{op}, digest...), 255, 255, 255, 255, 255, 255, 255, 255))
	}
	f.Fuzz(func(t *testing.T, said []byte) {
		s, err := Open(Config{Dir: t.TempDir(), Timeout: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		near, far := net.Pipe()
		done := make(chan struct{})
		go func() { defer close(done); s.serve(by{far, mux.Principal{Role: mux.Worker, ID: "w"}}) }()
		go func() { _, _ = io.Copy(io.Discard, near) }()
		_, _ = near.Write(said)
		_ = near.Close()
		<-done
		page, err := s.Page("", 10)
		if err != nil || len(page) != 0 {
			t.Errorf("%x leaves %v, %v", said, page, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
