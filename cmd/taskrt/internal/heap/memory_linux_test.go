package heap

import (
	"os"
	"testing"
)

// TestGroupLimit: the least limit of the control group and of those around it counts.
func TestGroupLimit(t *testing.T) {
	for _, c := range []struct {
		what  string
		files map[string]string
		want  uint64
	}{
		{"no groups", nil, 0},
		{"version 1", map[string]string{"/proc/self/cgroup": "3:memory:/a\n"}, 0},
		{"no limit", map[string]string{"/proc/self/cgroup": "0::/a/b\n", "/sys/fs/cgroup/a/b/memory.max": "max\n"}, 0},
		{"its own", map[string]string{"/proc/self/cgroup": "0::/a/b\n", "/sys/fs/cgroup/a/b/memory.max": "1000\n", "/sys/fs/cgroup/a/memory.max": "2000\n"}, 1000},
		{"one around it", map[string]string{"/proc/self/cgroup": "0::/a/b\n", "/sys/fs/cgroup/a/b/memory.max": "max\n", "/sys/fs/cgroup/a/memory.max": "2000\n"}, 2000},
		{"a container's", map[string]string{"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "3000\n"}, 3000},
	} {
		read := func(name string) ([]byte, error) {
			if text, ok := c.files[name]; ok {
				return []byte(text), nil
			}
			return nil, os.ErrNotExist
		}
		if got := groupLimit(read); got != c.want {
			t.Errorf("%s: %d, want %d", c.what, got, c.want)
		}
	}
	if memory() < 1<<20 {
		t.Errorf("this machine has %d bytes", memory())
	}
}
