package sdk

// Duration is a length of time in nanoseconds, like time.Duration and convertible to it. The SDK has types of its own,
// because importing package time makes a guest 260 KB larger, and many plugins need no more than "200 ms".
type Duration int64

// These are units.
const (
	Millisecond Duration = 1e6
	Second               = 1000 * Millisecond
	Minute               = 60 * Second
	Hour                 = 60 * Minute
)

// Milliseconds returns d in whole milliseconds.
func (d Duration) Milliseconds() int64 { return int64(d / Millisecond) }

// Time is an instant in Unix milliseconds: time.UnixMilli(int64(t)), and sdk.Time(t.UnixMilli()) back. 0 is none.
type Time int64

// Add returns t + d.
func (t Time) Add(d Duration) Time { return t + Time(d.Milliseconds()) }

// Sub returns t - u.
func (t Time) Sub(u Time) Duration { return Duration(t-u) * Millisecond }
