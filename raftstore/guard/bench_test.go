package guard

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/taskrt/taskrt/internal/lateness"
)

// BenchmarkWatched is what the watch over a durable write costs: beside nothing, and beside a write of 4 KiB that is synced.
func BenchmarkWatched(b *testing.B) {
	f, err := os.OpenFile(filepath.Join(b.TempDir(), "log"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	page := make([]byte, 4096)
	for name, write := range map[string]func() error{
		"nothing": func() error { return nil },
		"synced": func() error {
			if _, err := f.WriteAt(page, 0); err != nil {
				return err
			}
			return syscall.Fdatasync(int(f.Fd()))
		},
	} {
		b.Run(name, func(b *testing.B) {
			var meter lateness.Meter
			d := &disk{slow: 2 * time.Second, timeout: 20 * time.Second, late: meter.Total, thread: func() thread { return lateness.Current() }, writing: map[*watch]struct{}{}}
			for b.Loop() {
				if _, err := d.watched(write); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
