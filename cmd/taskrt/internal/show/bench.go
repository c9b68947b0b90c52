package show

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/taskrt/taskrt/internal/bench"
	"github.com/taskrt/taskrt/internal/terminal"
)

// Bench shows the report of a benchmark, beside a former one if there is one: a line for each row, a column for each figure.
func Bench(w *terminal.Table, r, former *bench.Report) {
	w.Printf("%s: %d nodes, each write to a log durable (fsync), %d bytes of params, medians of %d\n", r.Preset, r.Nodes, r.Payload, r.Runs)
	w.Printf("taskrt %s, %s %s, %d CPUs for all\n", r.Version, r.Go, r.OS, r.CPUs)
	for i, row := range r.Rows {
		if i == 0 {
			w.Row(append([]any{strings.ToUpper(r.Preset)}, benchHeads(row)...)...)
		}
		line := []any{row.Name}
		for _, f := range row.Figures {
			cell := benchNumber(f.Median)
			if former != nil {
				if ratio, ok := bench.Ratio(&f, former.Find(row.Name, f.Name)); ok && former.Preset == r.Preset {
					cell += fmt.Sprintf(" (%.2fx)", ratio)
				} else {
					cell += " (new)"
				}
			}
			line = append(line, cell)
		}
		w.Row(line...)
	}
}

func benchHeads(row bench.Row) (heads []any) {
	for _, f := range row.Figures {
		head := f.Name
		if f.Unit != "" {
			head += " " + f.Unit
		}
		heads = append(heads, strings.TrimSpace(head))
	}
	return heads
}

// benchNumber writes three digits, or all digits before the point.
func benchNumber(v float64) string {
	switch {
	case v >= 100 || v == 0:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}
