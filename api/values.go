package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// MillisUp returns d in milliseconds, rounded up. A negative d gives 0.
func MillisUp(d time.Duration) int64 {
	d = max(d, 0)
	ms := d.Milliseconds()
	if d%time.Millisecond != 0 {
		ms++
	}
	return ms
}

// TimeLayout is RFC 3339 with exactly three digits of a second, in UTC (SPEC H2).
const TimeLayout = "2006-01-02T15:04:05.000Z07:00"

// TimeOf makes a Time of milliseconds since the Unix epoch.
func TimeOf(ms int64) Time { return Time{time.UnixMilli(ms).UTC()} }

// TimeOrNil is TimeOf, but returns nil for 0, the time of what has not happened.
func TimeOrNil(ms int64) *Time {
	if ms == 0 {
		return nil
	}
	return new(TimeOf(ms))
}

// String is the form that the API shows.
func (t Time) String() string { return t.UTC().Format(TimeLayout) }

// MarshalJSON implements json.Marshaler.
func (t Time) MarshalJSON() ([]byte, error) { return []byte(`"` + t.String() + `"`), nil }

// UnmarshalJSON accepts RFC 3339 with any number of digits, from 1970 to 9999. It refuses null: a field without a time is left
// out.
func (t *Time) UnmarshalJSON(b []byte) error {
	var s *string
	if err := json.Unmarshal(b, &s); err != nil || s == nil {
		return fmt.Errorf("%.40s is not a time: write RFC 3339, as in \"2026-11-22T10:30:00.000Z\"", b)
	}
	parsed, err := ParseTime(*s)
	if err != nil {
		return err
	}
	*t = parsed
	return nil
}

// ParseTime parses what Time.String returns, and any other form of RFC 3339, in the same range of time.
func ParseTime(s string) (Time, error) {
	parsed, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return Time{}, fmt.Errorf("%.40q is not a time: write RFC 3339, as in \"2026-11-22T10:30:00.000Z\"", s)
	}
	parsed = parsed.UTC().Truncate(time.Millisecond)
	if parsed.UnixMilli() <= 0 || parsed.Year() > 9999 {
		return Time{}, fmt.Errorf("%.40q is out of range: 1970 to 9999", s)
	}
	return Time{parsed}, nil
}

// String is the form that the API shows.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalJSON implements json.Marshaler.
func (d Duration) MarshalJSON() ([]byte, error) { return []byte(`"` + d.String() + `"`), nil }

// UnmarshalJSON accepts Go's form, "1h30m".
func (d *Duration) UnmarshalJSON(b []byte) error {
	var s *string
	if err := json.Unmarshal(b, &s); err != nil || s == nil {
		return fmt.Errorf("%.40s is not a duration: write it as in \"30s\" or \"1h30m\"", b)
	}
	v, err := ParseDuration(*s)
	if err != nil {
		return err
	}
	*d = Duration(v)
	return nil
}

// keepNever is the text of a Keep that keeps for ever.
const keepNever = "never"

// String is the form that the API shows; the zero value gives "".
func (k Keep) String() string {
	switch {
	case k.Never:
		return keepNever
	case k.For == 0:
		return ""
	}
	return k.For.String()
}

// MarshalJSON implements json.Marshaler.
func (k Keep) MarshalJSON() ([]byte, error) { return []byte(`"` + k.String() + `"`), nil }

// UnmarshalJSON accepts Go's form of a duration, or "never".
func (k *Keep) UnmarshalJSON(b []byte) error {
	if string(b) == `"`+keepNever+`"` {
		*k = Keep{Never: true}
		return nil
	}
	var d Duration
	if err := d.UnmarshalJSON(b); err != nil {
		return fmt.Errorf("%w, or \"never\"", err)
	}
	if d == 0 {
		return errors.New("0s keeps nothing: write a longer duration, or \"never\" to keep for ever")
	}
	*k = Keep{For: d}
	return nil
}

// ParseDuration parses a duration that is not negative.
func ParseDuration(s string) (time.Duration, error) {
	v, err := time.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("%.40q is not a duration: write it as in \"30s\" or \"1h30m\"", s)
	}
	if v < 0 {
		return 0, fmt.Errorf("%.40q is negative", s)
	}
	return v, nil
}
