package bench

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// These bound the times that a histogram tells apart: microseconds to minutes, to three digits.
const (
	shortest = 1
	longest  = int64(10 * time.Minute / time.Microsecond)
	digits   = 3
)

func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(shortest, longest, digits) }

// record notes a time.
func record(h *hdrhistogram.Histogram, d time.Duration) {
	_ = h.RecordValue(min(max(d.Microseconds(), shortest), longest)) // within its bounds
}

// quantiles are the figures of a histogram.
func quantiles(prefix string, h *hdrhistogram.Histogram) []value {
	ms := func(q float64) float64 { return float64(h.ValueAtQuantile(q)) / 1000 }
	return []value{{prefix + "p50", "ms", ms(50)}, {prefix + "p99", "ms", ms(99)}, {prefix + "max", "ms", float64(h.Max()) / 1000}}
}

// transport has a connection for each caller. It asks for no compression, and uses no proxy.
func transport(callers int, tls *tls.Config) *http.Transport {
	dialer := &net.Dialer{Timeout: 3 * time.Second}
	return &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: callers, IdleConnTimeout: time.Minute, DisableCompression: true, TLSClientConfig: tls}
}

// Loop is a closed loop: callers that each do one thing after the other.
type Loop struct {
	Callers int
	Warmup  time.Duration
	Length  time.Duration // 0: until Limit
	Limit   int64         // of calls in all; 0: none
	Call    func(ctx context.Context, caller int) error
}

// Measured is the result of a loop.
type Measured struct {
	Calls int64 // that counted: begun after the warm-up, ended before the end
	All   int64 // with the calls that did not count
	Took  time.Duration
	Times *hdrhistogram.Histogram // in microseconds
}

// Rate is how many calls there were per second.
func (m *Measured) Rate() float64 { return float64(m.Calls) / m.Took.Seconds() }

// Run runs the loop. The first error ends it.
func (l *Loop) Run(ctx context.Context) (*Measured, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	begin := time.Now().Add(l.Warmup)
	end := begin.Add(l.Length)
	over := func(now time.Time) bool { return l.Length > 0 && now.After(end) }
	var begun atomic.Int64
	var mu sync.Mutex
	m := &Measured{Times: newHistogram()}
	var wg sync.WaitGroup
	for caller := range l.Callers {
		wg.Go(func() {
			times, calls, all := newHistogram(), int64(0), int64(0)
			for ctx.Err() == nil {
				from := time.Now()
				if over(from) || l.Limit > 0 && begun.Add(1) > l.Limit {
					break
				}
				if err := l.Call(ctx, caller); err != nil {
					cancel(err)
					break
				}
				all++
				if now := time.Now(); !from.Before(begin) && !over(now) {
					record(times, now.Sub(from))
					calls++
				}
			}
			mu.Lock()
			defer mu.Unlock()
			m.Calls += calls
			m.All += all
			m.Times.Merge(times)
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	m.Took = l.Length
	if l.Length == 0 {
		m.Took = time.Since(begin)
	}
	if m.Calls == 0 {
		return nil, errTooShort
	}
	return m, nil
}

// sample keeps some of the values that it is shown; each value has the same chance.
type sample struct {
	mu   sync.Mutex
	seen int64
	kept []string
	most int
	draw func(n int64) int64
}

func (s *sample) add(v string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen++
	if len(s.kept) < s.most {
		s.kept = append(s.kept, v)
	} else if i := s.draw(s.seen); i < int64(s.most) {
		s.kept[i] = v
	}
}

// errTooShort says that a measurement was over before anything was answered.
var errTooShort = errors.New("nothing was answered in the time: make it longer")
