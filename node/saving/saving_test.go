package saving_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/snapshot"
	"github.com/taskrt/taskrt/backup"
	"github.com/taskrt/taskrt/blob"
	"github.com/taskrt/taskrt/node/saving"
	"github.com/taskrt/taskrt/task"
)

// cluster is one replica, whose lease clock is that of the test's bubble.
type cluster struct {
	t     *testing.T
	files *blob.Store
	begun time.Time

	mu       sync.Mutex
	m        *task.Machine
	away     bool // nobody leads
	commands []task.Command
}

var errNobodyLeads = errors.New("nobody leads")

func newCluster(t *testing.T) *cluster {
	t.Helper()
	files, err := blob.Open(blob.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { files.Close() })
	c := &cluster{t: t, m: task.NewMachine(), files: files, begun: time.Now()}
	for level := task.FirstLevel; level < task.MembersLevel; level++ {
		c.must(task.RaiseLevel{Level: level + 1})
	}
	return c
}

// Propose implements saving.State, and tick lets time pass first.
func (c *cluster) Propose(ctx context.Context, cmds ...task.Command) ([]task.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.away || ctx.Err() != nil {
		return nil, errNobodyLeads
	}
	c.apply(task.Tick{})
	var rs []task.Result
	for _, cmd := range cmds {
		c.commands = append(c.commands, cmd)
		rs = append(rs, c.apply(cmd))
	}
	return rs, nil
}

func (c *cluster) apply(cmd task.Command) task.Result {
	rs, _ := c.m.Apply(task.Header{Index: c.m.Index() + 1, Term: 1, Now: 1000, LeaseNow: task.LeaseTime(time.Since(c.begun).Milliseconds() + 1)}, []task.Proposal{{Command: cmd}})
	return rs[0]
}

func (c *cluster) must(cmd task.Command) {
	c.t.Helper()
	if rs, err := c.Propose(context.Background(), cmd); err != nil || rs[0].Code != task.OK {
		c.t.Fatalf("%T: %v %v", cmd, rs, err)
	}
}

// Freeze implements saving.State.
func (c *cluster) Freeze(context.Context) (*task.Frozen, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.m.Freeze(), nil
}

// log is the cluster as saving.Log.
type log struct{ *cluster }

func (l log) Propose(ctx context.Context, cmd task.Command) (task.Result, error) {
	rs, err := l.cluster.Propose(ctx, cmd)
	if err != nil {
		return task.Result{}, api.NewError(api.CodeNoLeader, "%v", err)
	}
	return rs[0], nil
}

func (l log) Read(_ context.Context, fn func(*task.Machine) bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for fn(l.m) {
	}
	return nil
}

// Open implements saving.Files: this node has no peers.
func (c *cluster) Open(ctx context.Context, digest string) (*blob.File, error) {
	return c.files.Open(ctx, digest, nil)
}

func (c *cluster) put(b []byte) string {
	c.t.Helper()
	d, err := c.files.Put(context.Background(), b)
	if err != nil {
		c.t.Fatal(err)
	}
	c.must(task.NoteBlob{Digest: d, Size: int64(len(b))})
	c.must(task.NoteBlob{Digest: d, Size: int64(len(b)), Ready: true})
	return d
}

func (c *cluster) holds() []task.Hold {
	c.mu.Lock()
	defer c.mu.Unlock()
	return task.Holds(c.m)
}

func (c *cluster) saver() *saving.Saver {
	return saving.New(saving.Config{
		Log: log{c}, State: c, Files: c, Node: "n1", Version: "v", Cluster: func() string { return "c1" }, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
	})
}

// save reads a whole backup.
func (c *cluster) save(r snapshot.SaveRequest) ([]byte, error) {
	from, err := c.saver().Save(c.t.Context(), r)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	return io.ReadAll(from)
}

func verify(b []byte) (*backup.Verified, error) { return backup.Verify(bytes.NewReader(b), nil) }

// TestSave: a backup has the state and every blob, says where it is from, and its hold is gone afterwards (SPEC C8).
func TestSave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		for i := range 20 {
			c.put([]byte(strings.Repeat(fmt.Sprint(i), i)))
		}
		b, err := c.save(snapshot.SaveRequest{})
		if err != nil {
			t.Fatal(err)
		}
		v, err := verify(b)
		if err != nil || v.End.Blobs != 20 || v.Header.Blobs != 20 {
			t.Fatalf("%+v, %v", v, err)
		}
		if h := v.Header; h.Cluster != "c1" || h.Node != "n1" || h.Version != "v" || h.Level != task.MembersLevel || h.Term != 1 || h.BlobBytes != v.End.BlobBytes {
			t.Errorf("%+v", h)
		}
		if holds := c.holds(); len(holds) != 0 {
			t.Errorf("held on: %+v", holds)
		}
		before := len(c.commands)
		if b, err = c.save(snapshot.SaveRequest{WithoutBlobs: true}); err != nil {
			t.Fatal(err)
		}
		if v, err := verify(b); err != nil || v.End.Blobs != 0 || v.Header.Blobs != 20 || len(c.commands) != before {
			t.Errorf("without blobs: %+v, %v, %d commands", v, err, len(c.commands)-before)
		}
		if _, err := c.save(snapshot.SaveRequest{Rate: 1}); api.CodeOf(err) != api.CodeInvalidField {
			t.Errorf("a rate of 1: %v", err)
		}
	})
}

// TestHeldBeforeFrozen: what is dropped in between would be missing, so the hold comes first.
func TestHeldBeforeFrozen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.put([]byte("a blob"))
		from, err := c.saver().Save(t.Context(), snapshot.SaveRequest{})
		if err != nil {
			t.Fatal(err)
		}
		defer from.Close()
		r, err := backup.NewReader(from)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		m, err := r.Machine()
		if err != nil {
			t.Fatal(err)
		}
		if holds := task.Holds(m); len(holds) != 1 || !strings.Contains(holds[0].Holder, "n1") {
			t.Errorf("the state has the holds %+v", holds)
		}
		if shown, err := c.saver().Holds(t.Context()); err != nil || len(shown.Holds) != 1 || time.Duration(shown.Holds[0].TTL) != time.Minute {
			t.Errorf("%+v, %v", shown, err)
		}
	})
}

// TestMissing: a blob that no node has ends the backup, unless it may be missing.
func TestMissing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.put([]byte("here"))
		d := c.put([]byte("lost"))
		if _, err := c.files.Unlink(d, func() bool { return false }); err != nil {
			t.Fatal(err)
		}
		b, err := c.save(snapshot.SaveRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := verify(b); !errors.Is(err, backup.ErrBrokenOff) || !strings.Contains(err.Error(), "no node that answers has the blob "+d) {
			t.Errorf("%v", err)
		}
		if b, err = c.save(snapshot.SaveRequest{AllowMissing: true}); err != nil {
			t.Fatal(err)
		}
		if v, err := verify(b); err != nil || len(v.Missing) != 1 || v.Missing[0].Digest != d || v.End.Blobs != 1 {
			t.Errorf("%+v, %v", v, err)
		}
	})
}

// TestRateAndRenewal: a backup that takes many TTLs is read at its rate, and its hold lives all the while.
func TestRateAndRenewal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		for i := range 40 {
			c.put(bytes.Repeat([]byte{byte(i)}, 1<<20))
		}
		begun := time.Now()
		b, err := c.save(snapshot.SaveRequest{Rate: 128 << 10})
		if err != nil {
			t.Fatal(err)
		}
		if v, err := verify(b); err != nil || v.End.Blobs != 40 {
			t.Fatalf("%+v, %v", v, err)
		}
		if took := time.Since(begun); took < 39*8*time.Second || took > 45*8*time.Second {
			t.Errorf("40 MiB at 128 KiB/s took %v", took)
		}
	})
}

// TestHoldOver: while nobody leads, a hold cannot be renewed. If it was over when somebody led again, the backup says so and has no end.
func TestHoldOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		for i := range 40 {
			c.put(bytes.Repeat([]byte{byte(i)}, 1<<20))
		}
		lead := func(away bool) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.away = away
		}
		time.AfterFunc(20*time.Second, func() { lead(true) })
		time.AfterFunc(40*time.Second, func() { lead(false) })
		time.AfterFunc(120*time.Second, func() { lead(true) })
		time.AfterFunc(190*time.Second, func() { lead(false) })
		begun := time.Now()
		b, err := c.save(snapshot.SaveRequest{Rate: 128 << 10})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := verify(b); !errors.Is(err, backup.ErrBrokenOff) || !strings.Contains(err.Error(), "its hold on blobs is over") {
			t.Errorf("%v", err)
		}
		if took := time.Since(begun); took < 190*time.Second || took > 192*time.Second {
			t.Errorf("given up after %v", took)
		}
	})
}

// TestClose: who goes away in the middle leaves nothing running, and no hold. Two backups are saved at a time.
func TestClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.put(bytes.Repeat([]byte{1}, 3<<20))
		s := c.saver()
		var open []io.ReadCloser
		for range 2 {
			from, err := s.Save(t.Context(), snapshot.SaveRequest{Rate: 64 << 10})
			if err != nil {
				t.Fatal(err)
			}
			open = append(open, from)
		}
		if _, err := s.Save(t.Context(), snapshot.SaveRequest{}); api.CodeOf(err) != api.CodeOverloaded {
			t.Errorf("a third one: %v", err)
		}
		if len(c.holds()) != 2 {
			t.Errorf("holds %+v", c.holds())
		}
		if _, err := io.ReadFull(open[0], make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
		for _, from := range open {
			from.Close()
			from.Close()
		}
		if len(c.holds()) != 0 {
			t.Errorf("held on: %+v", c.holds())
		}
		from, err := s.Save(t.Context(), snapshot.SaveRequest{})
		if err != nil {
			t.Fatal(err)
		}
		from.Close()
	})
}

// TestNobodyLeads: without a leader no backup begins, and nothing is left over.
func TestNobodyLeads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.away = true
		s := c.saver()
		for range 3 { // no place is lost
			if _, err := s.Save(t.Context(), snapshot.SaveRequest{}); api.CodeOf(err) != api.CodeNoLeader {
				t.Errorf("%v", err)
			}
		}
	})
}
