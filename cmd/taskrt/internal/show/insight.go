package show

import (
	"context"
	"strings"

	"github.com/taskrt/taskrt/api"
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

// Why shows why a task waits, or what it does instead.
func Why(w *terminal.Table, r *insight.WhyReply) {
	for _, x := range r.Reasons {
		w.Row(x.Code, x.Text+about(&x))
	}
}

// waits says in one line why a task waits; "": it does not, or the server does not say. One of version 0.1.0 does not know the question.
func waits(ctx context.Context, by insight.Insight, t *api.Task) string {
	if t.Final || t.Status == "RUNNING" {
		return ""
	}
	r, err := by.Why(ctx, t.Namespace, t.ID)
	if err != nil || !r.Waits {
		return ""
	}
	texts := make([]string, len(r.Reasons))
	for i, x := range r.Reasons {
		texts[i] = x.Text + about(&x)
	}
	return strings.Join(texts, "; ")
}

// Waiting adds why a task waits to what is shown of it.
func Waiting(ctx context.Context, w *terminal.Table, by insight.Insight, t *api.Task) {
	if why := waits(ctx, by, t); why != "" {
		w.Field("waits", why)
	}
}

// Because adds why a task waits to a sentence.
func Because(ctx context.Context, by insight.Insight, t *api.Task) string {
	if why := waits(ctx, by, t); why != "" {
		return ": " + why
	}
	return ""
}

// about names whom a reason is about.
func about(x *insight.WaitReason) string {
	names := x.By
	if len(names) == 0 && x.Code != insight.Running { // whose text has the worker's name
		names = x.Workers
	}
	if len(names) == 0 {
		return ""
	}
	return " (" + strings.Join(names, ", ") + ")"
}
