package show

import (
	"context"
	"slices"
	"strconv"
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
		for i := range x.Preparing {
			w.Row("", preparing(&x.Preparing[i]))
		}
	}
}

// preparing says how far a worker is with a module.
func preparing(p *insight.Preparation) string {
	var b strings.Builder
	b.WriteString(p.Worker + ": " + p.Step)
	if p.Since != nil {
		b.WriteString(" since " + p.Since.String())
	}
	if p.Failed > 0 {
		b.WriteString(", tries that failed: " + strconv.FormatInt(p.Failed, 10))
	}
	if p.Error != "" {
		b.WriteString(", the last one: " + p.Error)
	}
	return b.String()
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
		if j := slices.IndexFunc(x.Preparing, func(p insight.Preparation) bool { return p.Error != "" }); j >= 0 { // one stands for all
			texts[i] += ": " + preparing(&x.Preparing[j])
		}
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
