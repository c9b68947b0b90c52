// Package gateway puts the client of package bucket through its contract against a server of S3, and breaks what is between the two. It is a module
// of its own, so that the server is none of what taskrt needs.
package gateway

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taskrt/taskrt/backup"
	"github.com/taskrt/taskrt/backup/series"
	"github.com/taskrt/taskrt/backup/target/bucket"
	"github.com/taskrt/taskrt/backup/target/targettest"
	"github.com/taskrt/taskrt/internal/leash"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/wire"
)

// server is the address of the gateway, and root the directory that holds the buckets.
var server, root string

func TestMain(m *testing.M) {
	if err := start(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(root)
	os.Exit(code)
}

// start starts versitygw over a directory.
func start() error {
	exe, err := exec.Command("go", "tool", "-n", "versitygw").Output()
	if err != nil {
		return fmt.Errorf("build versitygw: %w", err)
	}
	if root, err = os.MkdirTemp("", "buckets-"); err != nil {
		return err
	}
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "drawn", "AWS_SECRET_ACCESS_KEY": "for-this-test", "AWS_REGION": "us-east-1"} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server = l.Addr().String()
	l.Close()
	cmd := leash.Command(strings.TrimSpace(string(exe)), "--port", server, "--health", "/health", "posix", root)
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY=drawn", "ROOT_SECRET_KEY=for-this-test")
	if err := cmd.Start(); err != nil {
		return err
	}
	gone := make(chan error, 1)
	go func() { gone <- cmd.Wait() }()
	for {
		r, err := http.Get("http://" + server + "/health")
		if err == nil {
			return r.Body.Close()
		}
		select {
		case err := <-gone:
			return fmt.Errorf("versitygw ends: %w", err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// open makes a bucket, and opens it by an address.
func open(t *testing.T, at string) *bucket.Bucket {
	t.Helper()
	name := fmt.Sprintf("b%x", rand.Uint64())
	if err := os.Mkdir(filepath.Join(root, name), 0o700); err != nil {
		t.Fatal(err)
	}
	return reopen(t, name, at)
}

func reopen(t *testing.T, name, at string) *bucket.Bucket {
	t.Helper()
	b, err := bucket.Open("s3://" + name + "/some/prefix?path_style=true&endpoint=http://" + at)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBucket(t *testing.T) { targettest.Test(t, open(t, server)) }

// TestRefused: what is wrong with a bucket or its keys is said in words.
func TestRefused(t *testing.T) {
	gone := reopen(t, "there-is-no-such-bucket", server)
	_, got := gone.Get(t.Context(), "a/b")
	_, created := gone.Create(t.Context(), "a/b", nil)
	_, folders := gone.Folders(t.Context(), "")
	for what, err := range map[string]error{"put": gone.Put(t.Context(), "a/b", strings.NewReader("x"), 1), "get": got, "create": created, "list": folders} {
		if err == nil || !strings.Contains(err.Error(), "there is no bucket there-is-no-such-bucket at http://"+server) {
			t.Errorf("%s: %v", what, err)
		}
	}
	t.Setenv("AWS_SECRET_ACCESS_KEY", "another-one")
	if err := open(t, server).Put(t.Context(), "a/b", strings.NewReader("x"), 1); err == nil || !strings.Contains(err.Error(), "is refused by http://"+server) {
		t.Errorf("another secret: %v", err)
	}
}

// proxy passes connections on. Those that cut says so are cut when so many bytes have come from the server.
func proxy(t *testing.T, cut func(connection int) (after int64, yes bool)) (at string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for i := 0; ; i++ {
			from, err := l.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", server)
			if err != nil {
				from.Close()
				continue
			}
			go func() { _, _ = io.Copy(to, from); to.Close() }()
			go func() {
				if after, yes := cut(i); yes {
					_, _ = io.CopyN(from, to, after)
				} else {
					_, _ = io.Copy(from, to)
				}
				from.Close()
				to.Close()
			}()
		}
	}()
	return l.Addr().String()
}

// TestCut: a download whose connection breaks goes on where it broke, and one that breaks again and again ends with an error. An upload is sent
// again.
func TestCut(t *testing.T) {
	data := make([]byte, 8<<20)
	_, _ = rand.NewChaCha8([32]byte{2}).Read(data)
	direct := open(t, server)
	if err := direct.Put(t.Context(), "a/large", bytes.NewReader(data), int64(len(data))); err != nil {
		t.Fatal(err)
	}
	name := strings.Split(strings.TrimPrefix(direct.String(), "s3://"), "/")[0]
	connections := atomic.Int64{}
	some := proxy(t, func(int) (int64, bool) { connections.Add(1); return 3 << 20, true })
	b := reopen(t, name, some)
	in, err := b.Get(t.Context(), "a/large")
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(in)
	in.Close()
	if err != nil || !bytes.Equal(got, data) || connections.Load() < 3 {
		t.Errorf("%d bytes over %d connections, %v", len(got), connections.Load(), err)
	}
	at := proxy(t, func(i int) (int64, bool) { return 1 << 20, true })
	if err := reopen(t, name, at).Put(t.Context(), "a/again", bytes.NewReader(data), int64(len(data))); err != nil {
		t.Errorf("upload: %v", err)
	}
	dead := proxy(t, func(int) (int64, bool) { return 0, true })
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := reopen(t, name, dead).Get(ctx, "a/large"); err == nil {
		t.Error("nothing is read, and that is no error")
	}
}

// state is a cluster with some blobs.
type state struct {
	m     *task.Machine
	files map[string][]byte
}

func newState(t *testing.T, texts ...string) *state {
	t.Helper()
	s := &state{task.NewMachine(), map[string][]byte{}}
	for _, text := range texts {
		d := digest(text)
		s.files[d] = []byte(text)
		for _, ready := range []bool{false, true} {
			c := task.NoteBlob{Digest: d, Size: int64(len(text)), Ready: ready}
			if rs, _ := s.m.Apply(task.Header{Index: s.m.Index() + 1, Term: 1, Now: 1, LeaseNow: 1}, []task.Proposal{{Command: c}}); rs[0].Code != task.OK {
				t.Fatalf("%+v", rs[0])
			}
		}
	}
	return s
}

func (s *state) Header() backup.Header {
	f := s.m.Freeze()
	h := backup.Header{Cluster: "c1", Node: "n1", Begun: time.Unix(1, 0).UTC(), LogFormat: wire.Format, Blobs: int64(len(s.files))}
	h.Describe(f)
	for _, b := range backup.Needed(f) {
		h.BlobBytes += b.Size
	}
	return h
}
func (s *state) Blobs() []backup.Blob         { return backup.Needed(s.m.Freeze()) }
func (s *state) State(w *backup.Writer) error { return w.State(s.m.Freeze()) }
func (s *state) Held(context.Context) error   { return nil }
func (s *state) Open(_ context.Context, b backup.Blob) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(s.files[b.Digest])), nil
}

func job(token uint64, exclusive bool, s *state) series.Job {
	return series.Job{
		Token: token, Now: time.Now, Keep: 2, Exclusive: exclusive, Logger: slog.New(slog.DiscardHandler), Alive: func(context.Context) error { return nil },
		Take: func(context.Context) (series.Source, error) { return s, nil },
		Pace: func(context.Context, int) error { return nil }, Progress: func(string, int64) error { return nil },
	}
}

// TestSeries: backups are made, kept, and read back whole.
func TestSeries(t *testing.T) {
	s := series.Series{Target: open(t, server), Cluster: "c1"}
	if _, exclusive, err := s.Mark(t.Context(), "m"); !exclusive || err != nil {
		t.Fatalf("%v, %v", exclusive, err)
	}
	for i := range 4 {
		if _, err := s.Run(t.Context(), job(uint64(i+1), true, newState(t, "both", fmt.Sprint("of ", i)))); err != nil {
			t.Fatal(err)
		}
	}
	all, err := s.List(t.Context())
	if err != nil || len(all) != 2 || all[1].New != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
	for _, e := range all {
		in := s.Open(t.Context(), e, nil)
		if v, err := backup.Verify(in, nil); err != nil || v.End.Blobs != 2 {
			t.Errorf("%+v, %v", v, err)
		}
		in.Close()
	}
}

func digest(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }
