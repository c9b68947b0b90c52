package rebuild

import (
	"encoding/base64"
	"fmt"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/show"
	"github.com/taskrt/taskrt/internal/terminal"
)

const maxShown = 300 // bytes of a result

// compare says how a run of a task differs from the one before it.
func (w *Watcher) compare(before, now *api.Task) {
	w.say("%s again: %s\n", now.ID, show.State(now))
	was, is := outcome(before), outcome(now)
	if was == is {
		w.say("  result %s, as before\n", terminal.Clip(is, maxShown))
	} else {
		w.say("  result %s\n  before %s\n", terminal.Clip(is, maxShown), terminal.Clip(was, maxShown))
	}
	used, had := last(now), last(before)
	if used.FuelUsed > 0 {
		w.say("  fuel   %d%s\n", used.FuelUsed, difference(used.FuelUsed, had.FuelUsed))
	}
	if used.PeakMemoryBytes > 0 {
		w.say("  memory %d KiB%s\n", used.PeakMemoryBytes>>10, difference(used.PeakMemoryBytes>>10, had.PeakMemoryBytes>>10))
	}
}

// outcome is the result of a task's last run, or its error, as a text.
func outcome(t *api.Task) string {
	switch {
	case t.Error != nil:
		return show.Error(t.Error)
	case len(t.ResultBase64) > 0:
		return base64.StdEncoding.EncodeToString(t.ResultBase64)
	case len(t.Result) > 0:
		return string(t.Result)
	}
	return "nothing"
}

// last is the entry of the last attempt; what is 0 in it nobody knows.
func last(t *api.Task) api.Attempt {
	if len(t.History) == 0 {
		return api.Attempt{}
	}
	return t.History[len(t.History)-1]
}

// difference says how much more, or less, of something a run used than the one before it.
func difference(used, had int64) string {
	switch {
	case had == 0:
		return ""
	case used == had:
		return ", as before"
	}
	return fmt.Sprintf(", before %d (%+.1f %%)", had, 100*float64(used-had)/float64(had))
}
