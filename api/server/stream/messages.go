package stream

import (
	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/stream"
)

// parts takes events as parts of an answer. It has its own deadline for a client that reads nothing.
type parts interface{ WriteEvents([]stream.Event) error }

// messages are the messages of a stream. Pings say that it is alive, so a beat says something only if the place has moved.
type messages struct {
	to     parts
	begun  bool
	events []stream.Event
	bytes  int
}

func (m *messages) add(e api.Event, id *uint64) {
	m.events = append(m.events, stream.Event{Type: e.Kind, ID: id, Data: e.Data})
	m.bytes += len(e.Data)
}

func (m *messages) beat(id *uint64) {
	if id != nil {
		m.events = append(m.events, stream.Event{ID: id})
	}
}

func (m *messages) size() int { return m.bytes }

// flush says at first that the watch has begun, even if there is nothing else to say.
func (m *messages) flush() error {
	if m.begun && len(m.events) == 0 {
		return nil
	}
	err := m.to.WriteEvents(m.events)
	m.begun, m.events, m.bytes = true, nil, 0
	return err
}
