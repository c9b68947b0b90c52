package maintbench

import (
	"encoding/binary"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api/snapshot"
	"github.com/taskrt/taskrt/backup"
	"github.com/taskrt/taskrt/blob"
	"github.com/taskrt/taskrt/task"
)

var sparse = flag.Int("sparse", 32, "files of 32 MiB with holes that a backup reads, beside -blobs")

// sparseBytes is the size of a file with holes: that of the largest blob.
const sparseBytes = blob.DefaultMaxBytes

// fillSparse makes large blobs that take no room on the disk. All nodes share one file of each.
func (c *cluster) fillSparse() {
	for i := range *sparse {
		var head [8]byte
		binary.BigEndian.PutUint64(head[:], uint64(i)+1)
		content := make([]byte, sparseBytes)
		copy(content, head[:])
		d := blob.Digest(content)
		first := ""
		for _, n := range []string{"n1", "n2", "n3"} {
			file := filepath.Join(c.dir, n, "blobs", d[:2], d)
			err := os.MkdirAll(filepath.Dir(file), 0o700)
			switch {
			case err != nil:
			case first != "":
				err = os.Link(first, file)
			default:
				first = file
				if err = os.WriteFile(file, head[:], 0o600); err == nil {
					err = os.Truncate(file, sparseBytes)
				}
			}
			if err != nil {
				c.b.Fatal(err)
			}
		}
		c.propose(task.NoteBlob{Digest: d, Size: sparseBytes}, task.NoteBlob{Digest: d, Size: sparseBytes, Ready: true})
	}
}

// BenchmarkBackup: what a backup at its default rate costs those who submit meanwhile, in the cluster of BenchmarkMaintenance. A node saves it, and
// a reader in the same process checks it.
//
//	go test -run '^$' -bench Backup -benchtime 1x ./internal/maintbench -tasks 1000000 -blobs 0 -sparse 320
func BenchmarkBackup(b *testing.B) {
	for range b.N {
		c := open(b)
		c.fill()
		c.fillSparse()
		before := c.load(*alone, nil)
		began := time.Now()
		type outcome struct {
			v     *backup.Verified
			bytes int64
			err   error
		}
		ended := make(chan outcome, 1)
		go func() {
			from, err := c.nodes[0].Snapshots().Save(b.Context(), snapshot.SaveRequest{})
			if err != nil {
				ended <- outcome{err: err}
				return
			}
			defer from.Close()
			counted := &counter{}
			v, err := backup.Check(io.TeeReader(from, counted), nil)
			ended <- outcome{v, counted.n, err}
		}()
		var x outcome
		during := c.load(24*time.Hour, func() bool {
			select {
			case x = <-ended:
				return true
			default:
				return false
			}
		})
		took := time.Since(began)
		if x.err != nil {
			b.Fatal(x.err)
		}
		b.Logf("submits without the backup: %d, p50 %v, p99 %v\nsubmits beside the backup:  %d, p50 %v, p99 %v\nstate %d MiB, %d blobs of %d MiB, file %d MiB, %v",
			len(before), quantile(before, 0.5), quantile(before, 0.99), len(during), quantile(during, 0.5), quantile(during, 0.99),
			x.v.End.StateBytes>>20, x.v.End.Blobs, x.v.End.BlobBytes>>20, x.bytes>>20, took.Round(time.Second))
		b.ReportMetric(took.Seconds(), "backup-s")
		b.ReportMetric(float64(x.v.End.StateBytes+x.v.End.BlobBytes)/(1<<20)/took.Seconds(), "MiB/s")
		b.ReportMetric(ms(quantile(before, 0.99)), "p99-alone-ms")
		b.ReportMetric(ms(quantile(during, 0.99)), "p99-beside-ms")
		b.ReportMetric(float64(quantile(during, 0.99))/float64(quantile(before, 0.99)), "p99-ratio")
		b.ReportMetric(0, "ns/op")
		c.close()
	}
}

// counter counts what is written to it.
type counter struct{ n int64 }

// Write implements io.Writer.
func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}
