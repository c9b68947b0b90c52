package show

import (
	"github.com/taskrt/taskrt/api/insight"
	"github.com/taskrt/taskrt/internal/terminal"
)

// Failures shows groups of failures.
func Failures(w *terminal.Table, r *insight.FailuresReply) {
	w.Row("BEHAVIOR", "VERSION", "CODE", "RETRYING", "FINAL", "FIRST", "LAST", "SAMPLE")
	row := func(behavior, version, code string, c *insight.FailureCounts, sample string) {
		w.Row(behavior, version, code, c.Retrying, c.Final, c.FirstAt, c.LastAt, sample)
	}
	for i := range r.Groups {
		g := &r.Groups[i]
		row(g.Behavior, Digest(g.Version), g.Code, &g.FailureCounts, g.Sample)
	}
	if r.Other != nil {
		row("(other)", "", "", r.Other, "")
	}
}
