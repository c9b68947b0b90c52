package clustertest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/blob"
	"github.com/taskrt/taskrt/node"
	"github.com/taskrt/taskrt/node/maintain"
	"github.com/taskrt/taskrt/task"
)

// blobFile returns where member i keeps a blob.
func (c *Cluster) blobFile(i int, digest string) string {
	return filepath.Join(c.dir, c.Members[i].ID, "blobs", digest[:2], digest)
}

// hasFile reports whether the right bytes lie on member i's disk.
func (c *Cluster) hasFile(i int, content []byte) bool {
	got, err := os.ReadFile(c.blobFile(i, blob.Digest(content)))
	return err == nil && bytes.Equal(got, content)
}

// copies counts the members with the bytes on their disks.
func (c *Cluster) copies(content []byte) (n int) {
	for i := range c.Members {
		if c.hasFile(i, content) {
			n++
		}
	}
	return n
}

// blobBytes makes n bytes that depend on the seed.
func blobBytes(seed byte, n int) []byte {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i>>8) ^ byte(i)*7 ^ seed
	}
	return data
}

// readBlob reads a blob through member i.
func (c *Cluster) readBlob(i int, content []byte) error {
	ctx, cancel := c.Context(patience)
	defer cancel()
	b, err := c.Node(i).BlobContent(ctx, api.BlobRange{Digest: blob.Digest(content), Length: -1})
	if err != nil {
		return err
	}
	defer b.Body.Close()
	got, err := io.ReadAll(b.Body)
	if err == nil && !bytes.Equal(got, content) {
		err = fmt.Errorf("%d other bytes", len(got))
	}
	return err
}

// blobStatus returns what member i says of its files.
func (c *Cluster) blobStatus(i int) api.NodeBlobs {
	c.t.Helper()
	cluster, err := c.Node(i).Cluster(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	for _, n := range cluster.Nodes {
		if n.ID == c.Members[i].ID {
			return *n.Blobs
		}
	}
	c.t.Fatalf("%s is not in its own cluster", c.Members[i].ID)
	return api.NodeBlobs{}
}

// TestBlobThroughAnyNode: a blob that is put through one node can be read at once through all nodes. A majority has it
// when put returns, and soon all nodes have it.
func TestBlobThroughAnyNode(t *testing.T) {
	t.Parallel()
	Run(t, 3, Options{NoWorkers: true}, func(t *testing.T, c *Cluster) {
		c.Leader()
		for i := range 3 {
			content := blobBytes(byte(i), 100_000*i+1)
			c.putBlob(i, content)
			if n := c.copies(content); n < 2 {
				t.Errorf("put returned with %d copies", n)
			}
			for j := range 3 {
				if err := c.readBlob(j, content); err != nil {
					t.Errorf("put through n%d, read through n%d: %v", i+1, j+1, err)
				}
			}
			c.Eventually("all have it", func() bool { return c.copies(content) == 3 })
		}
	})
}

// TestBlobsWithAMemberDown: two members of three are enough. The third gets what it missed when it is back. Without a
// majority no blob is said to be stored.
func TestBlobsWithAMemberDown(t *testing.T) {
	t.Parallel()
	Run(t, 3, Options{NoWorkers: true}, func(t *testing.T, c *Cluster) {
		c.Leader()
		c.Kill(2)
		c.Leader(2)
		contents := [][]byte{blobBytes(1, 10), blobBytes(2, 200_000), blobBytes(3, 0)}
		for i, content := range contents {
			c.putBlob(i%2, content)
		}
		c.Start(2)
		c.Eventually("it has what it missed", func() bool {
			for _, content := range contents {
				if !c.hasFile(2, content) {
					return false
				}
			}
			return c.Node(2).Ready(t.Context()) == nil
		})
		c.Kill(1)
		c.Kill(2)
		lost := blobBytes(9, 1000)
		ctx, cancel := c.Context(time.Minute)
		defer cancel()
		_, err := c.Node(0).PutBlob(ctx, api.PutBlobRequest{Body: bytes.NewReader(lost), Size: -1})
		switch api.CodeOf(err) {
		case api.CodeNoLeader, api.CodeNotReady, api.CodeOutcomeUnknown:
		default:
			t.Errorf("without a majority: %v", err)
		}
		c.Start(1)
		c.Start(2)
		c.Leader()
		c.putBlob(0, lost)
	})
}

// TestLeaderDiesBetweenTheNotes: the file has been noted and is being written when the leader dies. The upload goes on
// and ends under the next leader.
func TestLeaderDiesBetweenTheNotes(t *testing.T) {
	t.Parallel()
	var during func(i int)
	var mu sync.Mutex
	o := Options{NoWorkers: true, Configure: func(i int, cfg *node.Config) {
		cfg.CreateBlob = func(dir, pattern string) (blob.TempFile, error) {
			mu.Lock()
			f := during
			mu.Unlock()
			if f != nil {
				f(i)
			}
			return os.CreateTemp(dir, pattern)
		}
	}}
	Run(t, 3, o, func(t *testing.T, c *Cluster) {
		for round := range 4 {
			leader := c.Leader()
			through, other := c.Followers()[0], c.Followers()[1]
			var once sync.Once
			killed := make(chan struct{})
			mu.Lock()
			during = func(i int) {
				if i == other { // it has applied the first note, so it stores the file now
					once.Do(func() { c.Kill(leader); close(killed) })
				}
			}
			mu.Unlock()
			content := blobBytes(byte(round), 70_000+round)
			c.putBlob(through, content)
			<-killed
			mu.Lock()
			during = nil
			mu.Unlock()
			if n := c.copies(content); n < 2 {
				t.Errorf("put returned with %d copies", n)
			}
			c.Start(leader)
			c.Eventually("the former leader has it", func() bool { return c.hasFile(leader, content) })
			if err := c.readBlob(leader, content); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestLostDiskHeals: a member whose files are gone gets all of them, and it is not ready before. The files go while it
// is down, and then while it runs.
func TestLostDiskHeals(t *testing.T) {
	t.Parallel()
	Run(t, 3, Options{}, func(t *testing.T, c *Cluster) {
		module := c.Push(0, "echo")
		var contents [][]byte
		for i := range 40 {
			contents = append(contents, blobBytes(byte(i), 5_000+i))
			c.putBlob(i%3, contents[i])
		}
		whole := func(i int) bool {
			for _, content := range contents {
				if !c.hasFile(i, content) {
					return false
				}
			}
			_, err := os.Stat(c.blobFile(i, module.Digest))
			return err == nil
		}
		c.Eventually("all have all", func() bool { return whole(0) && whole(1) && whole(2) })
		const lost = 1
		folder := filepath.Join(c.dir, c.Members[lost].ID, "blobs")
		remove := func() {
			if err := os.RemoveAll(folder); err != nil {
				t.Fatal(err)
			}
		}
		c.Stop(lost)
		remove()
		c.Start(lost)
		for !whole(lost) {
			if err := c.Node(lost).Ready(t.Context()); err == nil && !whole(lost) {
				t.Fatal("it is ready without its files")
			}
			c.Sleep(time.Millisecond)
		}
		c.Eventually("it is ready", func() bool { return c.Node(lost).Ready(t.Context()) == nil })
		remove()
		if err := c.readBlob(lost, contents[7]); err != nil {
			t.Errorf("what is asked for is fetched at once: %v", err)
		}
		c.Eventually("it has found out and healed", func() bool { return whole(lost) })
		if s := c.blobStatus(lost); s.Missing != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// TestTornBlobIsHealed: bytes that the disk has changed are never handed out, whichever member has them. They are
// replaced.
func TestTornBlobIsHealed(t *testing.T) {
	t.Parallel()
	Run(t, 3, Options{NoWorkers: true}, func(t *testing.T, c *Cluster) {
		c.Leader()
		content := blobBytes(5, 300_000)
		c.putBlob(0, content)
		c.Eventually("all have it", func() bool { return c.copies(content) == 3 })
		tear := func(i int, change func(data []byte) []byte) {
			data, err := os.ReadFile(c.blobFile(i, blob.Digest(content)))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(c.blobFile(i, blob.Digest(content)), change(data), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		flip := func(data []byte) []byte { data[200_000] ^= 1; return data }
		cut := func(data []byte) []byte { return data[:100_000] }
		for _, change := range []func([]byte) []byte{flip, cut} {
			tear(0, change)
			tear(1, change)
			for i := range 3 {
				if err := c.readBlob(i, content); err != nil {
					t.Errorf("n%d: %v", i+1, err)
				}
			}
			c.Eventually("all are healed", func() bool { return c.copies(content) == 3 })
		}
		if s := c.blobStatus(0); s.Corrupt < 2 || s.Missing != 0 {
			t.Errorf("%+v", s)
		}
		// All copies are torn. Reading gives the same error for ever, and no wrong byte.
		for i := range 3 {
			tear(i, flip)
		}
		if err := c.readBlob(2, content); err == nil {
			t.Error("torn bytes were handed out")
		}
		c.Eventually("it is known to be missing", func() bool { return c.blobStatus(2).Failing == 1 })
		if err := c.Node(2).Ready(t.Context()); err != nil {
			t.Errorf("a blob that nobody has takes the cluster down: %v", err)
		}
		if err := c.readBlob(2, content); api.CodeOf(err) != api.CodeNotReady {
			t.Errorf("got %v", err)
		}
		c.putBlob(1, content) // a client that has the bytes may bring them again
		c.Eventually("all are healed", func() bool { return c.copies(content) == 3 && c.blobStatus(2).Missing == 0 })
	})
}

// fullDisk is a file on a disk without room.
type fullDisk struct{ *os.File }

// Write implements io.Writer.
func (f fullDisk) Write([]byte) (int, error) {
	return 0, &os.PathError{Op: "write", Path: f.Name(), Err: syscall.ENOSPC}
}

// ReadFrom keeps io.Copy from going around Write.
func (f fullDisk) ReadFrom(io.Reader) (int64, error) {
	_, err := f.Write(nil)
	return 0, err
}

// TestFullDisks: the cluster works around one full disk, and the member says that its disk is full. Two full disks
// refuse with a code of their own, and no blob is said to be stored. With room again everything heals.
func TestFullDisks(t *testing.T) {
	t.Parallel()
	var full [3]atomic.Bool
	o := Options{NoWorkers: true, Configure: func(i int, cfg *node.Config) {
		cfg.CreateBlob = func(dir, pattern string) (blob.TempFile, error) {
			f, err := os.CreateTemp(dir, pattern)
			if err == nil && full[i].Load() {
				return fullDisk{f}, nil
			}
			return f, err
		}
	}}
	Run(t, 3, o, func(t *testing.T, c *Cluster) {
		c.Leader()
		full[0].Store(true)
		first, second := blobBytes(1, 100_000), blobBytes(2, 100_000)
		c.putBlob(0, first)
		c.putBlob(1, second)
		if c.hasFile(0, first) || c.copies(first) != 2 {
			t.Errorf("%d copies", c.copies(first))
		}
		if err := c.readBlob(0, second); err != nil {
			t.Errorf("reading needs no room: %v", err)
		}
		c.Eventually("it says so", func() bool { return c.Node(0).Ready(t.Context()) != nil && c.blobStatus(0).Error != "" })
		c.Eventually("another is ready", func() bool { return c.Node(1).Ready(t.Context()) == nil })
		full[1].Store(true)
		third := blobBytes(3, 100_000)
		for i := range 3 {
			ctx, cancel := c.Context(patience)
			_, err := c.Node(i).PutBlob(ctx, api.PutBlobRequest{Body: bytes.NewReader(third), Size: int64(len(third))})
			cancel()
			if api.CodeOf(err) != api.CodeStorageFull {
				t.Errorf("through n%d: %v", i+1, err)
			}
		}
		if _, err := c.Node(2).Blob(t.Context(), blob.Digest(third)); api.CodeOf(err) != api.CodeBlobNotFound {
			t.Errorf("what was refused is there: %v", err)
		}
		full[0].Store(false)
		full[1].Store(false)
		c.putBlob(0, third)
		c.Eventually("all is healed", func() bool {
			return c.copies(first) == 3 && c.copies(second) == 3 && c.copies(third) == 3 && c.Node(0).Ready(t.Context()) == nil
		})
	})
}

// dropAll drops every blob that nothing needs, again and again after a pause until ctx ends. It does so in the name of a
// maintenance run. It returns the number of dropped blobs.
func (c *Cluster) dropAll(ctx context.Context, pause time.Duration, digests []string) (dropped int64) {
	for ctx.Err() == nil {
		c.Sleep(pause)
		leader := c.LeaderNode()
		token, now := maintaining(ctx, leader)
		if token == 0 {
			continue
		}
		rs, err := leader.Store().Propose(ctx, task.DropBlobs{Token: token, Before: now + 1000, Digests: digests})
		if err == nil && len(rs) == 1 {
			dropped += rs[0].Count
		}
	}
	return dropped
}

// maintaining returns the token of the maintenance run. If there is no run it asks n for one and returns 0.
func maintaining(ctx context.Context, n *node.Node) (token uint64, now task.Time) {
	n.Store().Local(func(m *task.Machine) {
		now = m.Now()
		if t := m.Task(task.MaintenanceKey()); t != nil && t.Lease != nil {
			token = t.Lease.Token
		}
	})
	if token == 0 {
		_, _ = n.StartMaintenance(ctx, api.MaintenanceRequest{}) // a run may have started by now
	}
	return token, now
}

// TestUploadsBesideDrops: the blobs that a task needs stay on a majority of the disks. Meanwhile the same few files are
// put, referred to and dropped all the time, and members die and replay their logs. (TestNothingNeededIsUnlinked of
// package node/files does this for thousands of schedules, and TestPayloadsBesideMaintenance does it with whole runs.)
func TestUploadsBesideDrops(t *testing.T) {
	t.Parallel()
	Run(t, 3, maintained(maintain.Config{Every: -1, Grace: time.Millisecond, UnsafeGrace: true, ScanRate: 1}), func(t *testing.T, c *Cluster) {
		c.Leader()
		ctx, cancel := c.Context(time.Hour)
		defer cancel()
		if _, err := c.Node(0).PutBehavior(ctx, api.PutBehaviorRequest{Name: "ext.waits", Policy: []byte(`{"kind":"external"}`)}); err != nil {
			t.Fatal(err)
		}
		rs := make([]api.SubmitRequest, 1000) // a run looks at fewer without waiting
		for i := range rs {
			rs[i] = api.SubmitRequest{Behavior: "ext.waits", ID: fmt.Sprint("many-", i)}
		}
		if _, err := c.Node(0).SubmitBatch(ctx, rs); err != nil {
			t.Fatal(err)
		}
		c.Eventually("maintenance runs", func() bool {
			token, _ := maintaining(ctx, c.LeaderNode())
			return token > 0
		})
		var contents [][]byte
		var digests []string
		for i := range 4 {
			contents = append(contents, blobBytes(byte(i), 100+i))
			digests = append(digests, blob.Digest(contents[i]))
		}
		var mu sync.Mutex
		needed := map[string][]byte{} // by task
		again := 0
		upload := func(i, n int, random *rand.Rand) {
			content := contents[random.IntN(len(contents))]
			id := fmt.Sprintf("task-%d-%d", i, n)
			for ctx.Err() == nil {
				up := c.Up()
				at := c.Members[up[random.IntN(len(up))]].up()
				if at == nil {
					continue
				}
				_, err := at.PutBlob(ctx, api.PutBlobRequest{Body: bytes.NewReader(content), Size: int64(len(content))})
				if err == nil {
					_, err = at.Submit(ctx, api.SubmitRequest{Behavior: "ext.waits", ID: id, Params: api.BlobRef(blob.Digest(content))})
				}
				mu.Lock()
				switch {
				case err == nil:
					needed[id] = content
				case api.CodeOf(err) == "blob_gone":
					again++
				}
				mu.Unlock()
				if err == nil {
					break
				}
				c.Sleep(10 * time.Millisecond)
			}
			if random.IntN(2) == 0 {
				mu.Lock()
				delete(needed, id)
				mu.Unlock()
				if err := c.LeaderNode().Remove(ctx, "", id); err != nil && api.CodeOf(err) != api.CodeTaskNotFound {
					t.Logf("remove: %v", err) // the leader may be going
					mu.Lock()
					needed[id] = nil
					mu.Unlock()
				}
			}
		}
		dctx, stop := context.WithCancel(ctx)
		var dropped int64
		var drops, uploads sync.WaitGroup
		drops.Go(func() { dropped = c.dropAll(dctx, 15*time.Millisecond, digests) })
		for i := range 3 {
			uploads.Go(func() {
				random := rand.New(rand.NewPCG(uint64(i), 1))
				for n := range 40 {
					upload(i, n, random)
					c.Sleep(time.Duration(random.IntN(40)) * time.Millisecond)
				}
			})
		}
		uploads.Go(func() {
			for range 2 {
				c.Sleep(300 * time.Millisecond)
				i := c.Followers()[0]
				c.Stop(i)
				c.Sleep(300 * time.Millisecond)
				c.Start(i)
			}
		})
		uploads.Wait()
		stop()
		drops.Wait()
		t.Logf("%d tasks need a blob, %d drops, %d uploads done again", len(needed), dropped, again)
		if dropped == 0 || len(needed) == 0 {
			t.Error("what the test is about did not happen")
		}
		for id, content := range needed {
			if content == nil {
				continue
			}
			if n := c.copies(content); n < 2 {
				t.Errorf("%s needs a blob of %d copies", id, n)
			}
			for i := range 3 {
				if err := c.readBlob(i, content); err != nil {
					t.Errorf("%s, n%d: %v", id, i+1, err)
				}
			}
		}
	})
}
