package blob

import (
	"strconv"
	"sync"
	"testing"
)

// TestCacheCountsEveryFile: a cache counts the files that are there, and no others, also after files have come again while they were being removed. A
// file that it does not count it would never remove.
func TestCacheCountsEveryFile(t *testing.T) {
	t.Parallel()
	const each, writers, puts = 1000, 16, 300
	s, err := Open(Config{Dir: t.TempDir(), KeepBytes: each * 3 / 2})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range puts {
				data := make([]byte, each)
				copy(data, strconv.Itoa((i+w)%3))
				if _, err := s.Put(t.Context(), data); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	there := int64(0)
	if err := s.List(func(i Info) bool { there += i.Size; return true }); err != nil {
		t.Fatal(err)
	}
	if there != s.cache.total || there > each {
		t.Errorf("%d bytes are there, the cache counts %d and may keep %d", there, s.cache.total, s.cache.most)
	}
}
