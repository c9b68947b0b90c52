package clustertest

import (
	"bytes"
	"context"
	"io"
	"os"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api/snapshot"
	"github.com/taskrt/taskrt/backup"
	"github.com/taskrt/taskrt/blob"
	"github.com/taskrt/taskrt/node/maintain"
)

// TestBackupFromAFollower: a follower that lacks half of the files saves a backup for longer than a hold lives by itself. Meanwhile a run of maintenance drops whatever it
// may, the leader dies, and leaders change. The backup is whole: the files came from the other members, and the hold has lived through it all
// (SPEC C8). Afterwards the files go.
func TestBackupFromAFollower(t *testing.T) {
	t.Parallel()
	Run(t, 3, maintained(maintain.Config{Every: -1, Grace: time.Millisecond, UnsafeGrace: true, ScanRate: 1}), func(t *testing.T, c *Cluster) {
		leader, saver := c.Leader(), c.Followers()[0]
		var digests []string
		for i := range 12 {
			content := blobBytes(byte(i), 1<<20)
			c.putBlob(saver, content)
			c.Eventually("all have it", func() bool { return c.copies(content) == 3 })
			if digests = append(digests, blob.Digest(content)); i%2 == 0 {
				if err := os.Remove(c.blobFile(saver, digests[i])); err != nil {
					t.Fatal(err)
				}
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		from, err := c.Node(saver).Snapshots().Save(ctx, snapshot.SaveRequest{Rate: 128 << 10})
		if err != nil {
			t.Fatal(err)
		}
		dropping, stop := context.WithCancel(ctx)
		dropped := make(chan struct{})
		go func() {
			defer close(dropped)
			c.dropAll(dropping, 200*time.Millisecond, digests) // the backup takes a minute and a half
		}()
		restarted := make(chan struct{})
		go func() {
			defer close(restarted)
			c.Sleep(20 * time.Second)
			c.Kill(leader)
			c.Sleep(20 * time.Second)
			c.Start(leader)
		}()
		b, err := io.ReadAll(from)
		if err != nil {
			t.Fatal(err)
		}
		v, err := backup.Verify(bytes.NewReader(b), nil)
		if err != nil || v.End.Blobs < int64(len(digests)) || v.Header.Node != c.Members[saver].ID {
			t.Fatalf("%+v, %v", v, err)
		}
		<-restarted
		from.Close()
		c.Eventually("what nobody holds is dropped", func() bool {
			for _, d := range digests {
				if _, err := os.Stat(c.blobFile(saver, d)); err == nil {
					return false
				}
			}
			return true
		})
		stop()
		<-dropped
	})
}
