package openapi

import (
	_ "embed"
	"encoding/json"
	"fmt"

	"github.com/taskrt/taskrt/api/internal/codec"
)

//go:embed examples.json
var exampleFile []byte

// Bodies are examples of an operation: a body of a request, and bodies of answers by their status.
type Bodies struct {
	Request json.RawMessage            `json:"request"`
	Answers map[string]json.RawMessage `json:"answers"`
}

// Examples are all of them, by operationId. Most were recorded from a cluster.
func Examples() map[string]Bodies {
	var all map[string]Bodies
	if err := json.Unmarshal(exampleFile, &all); err != nil {
		panic(fmt.Sprintf("examples.json: %v", err)) // it is compiled in
	}
	return all
}

// exemplify adds the examples of an operation.
func (o *Operation) exemplify(e Bodies) {
	if o.Body != nil {
		exemplify(o.Body.Content, e.Request)
	}
	for status, body := range e.Answers {
		if r := o.Responses[status]; r != nil {
			exemplify(r.Content, body)
		}
	}
}

func exemplify(content map[string]Media, body json.RawMessage) {
	if m, ok := content[codec.JSONMedia]; ok && body != nil {
		m.Examples = map[string]Example{"example": {Summary: "An example.", Value: body}}
		content[codec.JSONMedia] = m
	}
}
