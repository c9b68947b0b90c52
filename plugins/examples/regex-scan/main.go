// Regex-scan finds matches of regular expressions in a text of any length, line by line, as grep does. It reads the text in pieces,
// and goes on from a checkpoint where a lost worker left off.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
	"github.com/taskrt/taskrt/plugins/sdk/go/sdkjson"
)

// Limits of the params.
const (
	maxPatterns = 32
	maxPattern  = 1024 // bytes
	maxMatches  = 1000
)

func init() {
	sdk.Register(sdk.Behavior{
		Name:             "regex-scan",
		Description:      "finds matches of regular expressions (RE2) in a text, with line, column and offset",
		Run:              sdkjson.Handler(run),
		ID:               sdk.ID{Strategy: sdk.IDParams},
		Retry:            sdk.Retry{MaxAttempts: 3},
		HeartbeatTimeout: sdk.Minute, // a piece takes milliseconds
		RunTimeout:       sdk.Hour,
		Limits:           sdk.Limits{Memory: 32 << 20},
	})
}

type params struct {
	Patterns   []string `json:"patterns"`
	Text       text     `json:"text"`
	MaxMatches *int     `json:"max_matches"`
}

// text is {"$blob": "sha256:…"}, or the text itself.
type text struct {
	given  bool
	blob   string
	inline string
}

func (t *text) UnmarshalJSON(data []byte) error {
	t.given = true
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, &t.inline)
	}
	var ref sdk.BlobRef
	if err := json.Unmarshal(data, &ref); err != nil || ref.Name == "" {
		return errors.New(`text: must be a string or {"$blob": "sha256:…"}`)
	}
	t.blob = ref.Name
	return nil
}

func (t *text) open(c *sdk.Context) (io.ReadSeeker, int64, error) {
	if t.blob == "" {
		return strings.NewReader(t.inline), int64(len(t.inline)), nil
	}
	r, err := c.Blob(t.blob)
	switch {
	case errors.Is(err, sdk.ErrUnavailable):
		return nil, 0, sdk.Retryable("blob_unavailable", t.blob)
	case err != nil:
		return nil, 0, sdk.Fail("bad_params", "text: "+t.blob+": "+err.Error())
	}
	return r, r.Size(), nil
}

// compile checks the params.
func (p *params) compile() ([]*regexp.Regexp, int, error) {
	most := 100
	if p.MaxMatches != nil {
		most = *p.MaxMatches
	}
	switch {
	case !p.Text.given:
		return nil, 0, errors.New("text: missing")
	case len(p.Patterns) < 1 || len(p.Patterns) > maxPatterns:
		return nil, 0, fmt.Errorf("patterns: %d, must be 1 to %d", len(p.Patterns), maxPatterns)
	case most < 0 || most > maxMatches:
		return nil, 0, fmt.Errorf("max_matches: %d, must be 0 to %d", most, maxMatches)
	}
	compiled := make([]*regexp.Regexp, len(p.Patterns))
	for i, pattern := range p.Patterns {
		if len(pattern) > maxPattern {
			return nil, 0, fmt.Errorf("patterns[%d]: %d bytes, at most %d", i, len(pattern), maxPattern)
		}
		var err error
		if compiled[i], err = regexp.Compile(pattern); err != nil {
			return nil, 0, fmt.Errorf("patterns[%d]: %w", i, err)
		}
	}
	return compiled, most, nil
}

func run(c *sdk.Context, p params) (found, error) {
	patterns, most, err := p.compile()
	if err != nil {
		return found{}, sdk.Fail("bad_params", err.Error())
	}
	r, size, err := p.Text.open(c)
	if err != nil {
		return found{}, err
	}
	s := scan{patterns: patterns, most: most}
	sdkjson.Checkpoint(c, &s.state)
	if err := s.begin(r); err != nil {
		return found{}, failure(err)
	}
	saved := c.Elapsed()
	for {
		over, err := s.piece()
		if err != nil {
			return found{}, failure(err)
		}
		if over {
			return s.state.found(), nil
		}
		signals := c.Heartbeat(s.state.Offset, size)
		if signals.Cancelled() {
			return found{}, sdk.ErrCancelled
		}
		if signals.Draining() || c.Elapsed()-saved >= sdk.Second {
			if err := sdkjson.SaveCheckpoint(c, s.state); err != nil {
				return found{}, err
			}
			saved = c.Elapsed()
		}
		if signals.Draining() {
			return found{}, sdk.Yield(0)
		}
	}
}

// failure is one of reading: another attempt may find the blob again.
func failure(err error) error { return sdk.Retryable("blob_unavailable", err.Error()) }

func main() {} // never called
