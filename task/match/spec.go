package match

import (
	"bytes"
	"encoding/json"
	"io"
)

// Spec is a Filter in the form in which the log keeps it (SPEC Q3): JSON, with the words that its caller used.
type Spec struct {
	Statuses  []string `json:"status,omitempty"`
	Final     *bool    `json:"final,omitempty"`
	Behaviors []string `json:"behavior,omitempty"`
	Codes     []string `json:"error,omitempty"`
	Worker    string   `json:"worker,omitempty"`
	Node      string   `json:"node,omitempty"`
	Parent    string   `json:"parent,omitempty"`
	Labels    []Label  `json:"label,omitempty"`
	IDPrefix  string   `json:"id_prefix,omitempty"`
	Created   Range    `json:"created,omitzero"`
	Started   Range    `json:"started,omitzero"`
	Finished  Range    `json:"finished,omitzero"`
	DueBefore int64    `json:"due_before,omitempty"`
}

// MaxSpec bounds the JSON of a Spec, in bytes, and maxList each of its lists.
const (
	MaxSpec = 64 << 10
	maxList = 1_000
)

// Parse reads the JSON of a Spec. wrong says what is wrong with it.
func Parse(text []byte) (s Spec, wrong string) {
	if len(text) > MaxSpec {
		return s, "a filter is at most 65536 bytes of JSON"
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if bytes.Equal(bytes.TrimSpace(text), []byte("null")) || d.Decode(&s) != nil || d.Decode(new(json.RawMessage)) != io.EOF {
		return s, "a filter is one JSON object with the fields of a list's filters"
	}
	for _, word := range s.Statuses {
		if wordOf(word) == 0 {
			return s, "a status is CREATED, RUNNING, SUCCESS, FAILURE, RETRYING or DEAD"
		}
	}
	if max(len(s.Statuses), len(s.Behaviors), len(s.Codes), len(s.Labels)) > maxList {
		return s, "a list has at most 1000 entries"
	}
	return s, ""
}

// Filter returns what the Spec asks for.
func (s *Spec) Filter() Filter {
	return Filter{
		States: StatesOf(s.Statuses, s.Final), Behaviors: s.Behaviors, Codes: s.Codes, Worker: s.Worker, Node: s.Node, Parent: s.Parent,
		Labels: s.Labels, IDPrefix: s.IDPrefix, Created: s.Created, Started: s.Started, Finished: s.Finished, DueBefore: s.DueBefore,
	}
}
