package watch

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/taskrt/taskrt/task"
)

// TestTenThousandSubscribersStayWithinMemory: a subscriber's memory does not grow with the number of changes, whether
// it reads or not.
func TestTenThousandSubscribersStayWithinMemory(t *testing.T) {
	const subscribers, perSubscriber, ringBytes = 10_000, 1 << 10, 8 << 20
	b := newBed(t, Config{Entries: 4096, Bytes: ringBytes})
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	subs := make([]*Sub, subscribers)
	for i := range subs {
		f := Filter{Namespace: "default"}
		switch i % 4 {
		case 0:
			f.IDs = []string{fmt.Sprintf("t%04d", i)}
		case 1:
			f.Behavior = behavior
		case 2:
			f.Status = task.Success
		}
		s, err := b.feed.Subscribe(f, b.m.Rev())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		subs[i] = s
	}
	params := task.Payload{Encoding: task.Bytes, Data: make([]byte, 10<<10)}
	for i := range 5_000 {
		id := fmt.Sprintf("t%04d", i)
		b.must(task.Submit{Namespace: "default", ID: id, Behavior: behavior, Priority: 4, Params: params, HasParams: true})
		b.must(task.Remove{Key: task.Key{Namespace: "default", ID: id}})
		b.flush()
		if i%1000 == 999 { // a tenth of the subscribers reads a little, the others never read
			for _, s := range subs[:subscribers/10] {
				s.Try()
			}
		}
	}
	grown := heap() - before
	if limit := int64(subscribers*perSubscriber + 2*ringBytes); grown > limit {
		t.Errorf("%d bytes for %d subscribers, at most %d", grown, subscribers, limit)
	}
	for _, s := range subs[subscribers/10:] {
		if _, ok := s.Try(); !ok && s.filter.Status == 0 && len(s.filter.IDs) == 0 {
			t.Fatalf("%+v got nothing", s.filter)
		}
	}
}

// BenchmarkFanout measures one change for a thousand subscribers without filters. Each subscriber has a goroutine.
func BenchmarkFanout(b *testing.B) {
	for _, filter := range []string{"all", "own"} {
		b.Run(filter, func(b *testing.B) {
			const subscribers = 1000
			bed := newBed(b, Config{})
			var wg sync.WaitGroup
			got := make(chan struct{}, subscribers)
			for i := range subscribers {
				f := Filter{}
				if filter == "own" && i > 0 {
					f.IDs = []string{fmt.Sprintf("s%04d", i)}
				}
				s := bed.subscribe(f, bed.m.Rev())
				wg.Go(func() {
					for {
						if _, err := s.Next(b.Context()); err != nil {
							return
						}
						got <- struct{}{}
					}
				})
			}
			n := 1
			if filter == "all" {
				n = subscribers
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				bed.submit(fmt.Sprintf("t%09d", i), behavior)
				bed.flush()
				for range n {
					<-got
				}
			}
			b.ReportMetric(float64(n), "events/op")
			bed.feed.Close()
			wg.Wait()
		})
	}
}

// BenchmarkIngest measures changes that nobody looks at.
func BenchmarkIngest(b *testing.B) {
	bed := newBed(b, Config{})
	params := task.Payload{Encoding: task.JSON, Data: []byte(`"` + strings.Repeat("x", 254) + `"`)}
	for i := range 1000 {
		id := fmt.Sprintf("018f0000-0000-7000-8000-%012d", i)
		bed.must(task.Submit{Namespace: "default", ID: id, Behavior: behavior, Priority: 4, Params: params, HasParams: true})
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i += len(bed.waiting) {
		for j := range bed.waiting {
			bed.waiting[j].Rev += uint64(len(bed.waiting))
		}
		bed.feed.Ingest(bed.waiting)
	}
}
