package service

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/task"
)

// This file turns fields of requests into fields of commands.

// payloadOf makes a payload of params as the API brings them. At most one of j and b is set.
func payloadOf(j json.RawMessage, b []byte) task.Payload {
	switch {
	case j != nil:
		return task.Payload{Encoding: task.JSON, Data: j}
	case b != nil:
		return task.Payload{Encoding: task.Bytes, Data: b}
	}
	return task.Payload{}
}

func labelsOf(m map[string]string) []task.Label {
	ls := make([]task.Label, 0, len(m))
	for name, value := range m {
		ls = append(ls, task.Label{Name: name, Value: value})
	}
	slices.SortFunc(ls, func(a, b task.Label) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return ls
}

// timeValue returns 0 for no time.
func timeValue(t *api.Time) task.Time {
	if t == nil {
		return 0
	}
	return task.Time(t.UnixMilli())
}

// delayMillis rounds up, so that no task starts earlier than asked (SPEC R1).
func delayMillis(d api.Duration) task.Millis { return task.Millis(api.MillisUp(time.Duration(d))) }
