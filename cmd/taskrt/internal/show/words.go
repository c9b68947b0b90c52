// Package show is how the commands show what the API answers: values as tables and lines for people.
package show

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/internal/terminal"
)

// Time is a time for people: as the API writes it, or "-".
func Time(t *api.Time) string {
	if t == nil {
		return "-"
	}
	return t.String()
}

// Ago is Age for a sentence.
func Ago(t api.Time) string {
	if s := Age(t); s != "now" {
		return s + " ago"
	}
	return "just now"
}

// Age is how long ago t was, for people.
func Age(t api.Time) string { return since(time.Since(t.Time)) }

func since(d time.Duration) string {
	switch {
	case d < time.Second:
		return "now"
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// OrDash is a text, or "-" for none.
func OrDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// Digest is the beginning of a digest.
func Digest(digest string) string { return digest[:min(12, len(digest))] }

// Bytes is a size for people.
func Bytes(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d bytes", n)
	case n < 10_000_000:
		return fmt.Sprintf("%d KB", n/1000)
	}
	return fmt.Sprintf("%d MB", n/1_000_000)
}

// Progress shows {"done":…,"total":…}, which guests' heartbeats make, as a bar, and any other JSON as it is.
func Progress(p json.RawMessage) string {
	var at struct {
		Done  int64 `json:"done"`
		Total int64 `json:"total"`
	}
	if json.Unmarshal(p, &at) != nil || at.Total <= 0 || at.Done < 0 || at.Done > at.Total {
		return Clip(p, 60)
	}
	return terminal.Bar(at.Done, at.Total)
}

// Clip is the beginning of a JSON text.
func Clip(b []byte, n int) string { return terminal.Clip(string(b), n) }
