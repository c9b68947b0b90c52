// Word-count-op counts the words of texts: each partition of the operation counts a part of the texts, and the completion adds up the
// counts. It is the model of map and reduce.
package main

import (
	"github.com/taskrt/taskrt/plugins/examples/words"
	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
	"github.com/taskrt/taskrt/plugins/sdk/go/tinyjson"
)

// pieceSize is how much of a text is in memory, in bytes.
const pieceSize = 64 << 10

const params = `{"type":"object","properties":{"arg":{"type":"object","required":["texts","parts"],"properties":{` +
	`"texts":{"type":"array","items":{"type":["object","string"],"required":["$blob"]}},` +
	`"parts":{"type":"integer","minimum":1,"maximum":100000},"top":{"type":"integer","minimum":1}},"additionalProperties":false}}}`

func init() {
	sdk.Register(sdk.Behavior{
		Name:             "word-count-op",
		Description:      `counts words: op start word-count-op --partitions N, arg {"texts":["…" or {"$blob":…}],"parts":N}`,
		Run:              count,
		ParamsSchema:     params,
		Retry:            sdk.Retry{MaxAttempts: 5},
		Limits:           sdk.Limits{Memory: 256 << 20},
		HeartbeatTimeout: sdk.Minute,
		Operation:        &sdk.Operation{Restart: true, Complete: "word-count-op-reduce"},
	})
	sdk.Register(sdk.Behavior{
		Name:        "word-count-op-reduce",
		Description: "adds up what the partitions have counted",
		Run:         reduce,
		Retry:       sdk.Retry{MaxAttempts: 5},
		Limits:      sdk.Limits{Memory: 512 << 20},
	})
}

// argument is what the operation was started with.
type argument struct {
	texts []tinyjson.Value
	parts int64
	top   int64 // 0: all words
}

func parse(text []byte) (argument, error) {
	v, err := tinyjson.Parse(text)
	if err != nil {
		return argument{}, sdk.Fail("bad_params", "arg: "+err.Error())
	}
	texts, _ := v.Get("texts")
	member, _ := v.Get("parts")
	parts, ok := member.Int64()
	if texts.Kind() != tinyjson.Array || !ok || parts < 1 {
		return argument{}, sdk.Fail("bad_params", `arg must be {"texts":["…" or {"$blob":…}],"parts":N}`)
	}
	member, _ = v.Get("top")
	top, _ := member.Int64()
	return argument{texts.Elems(), parts, top}, nil
}

// count is the map: partition i of n takes part i of n of the texts' bytes, laid end to end.
func count(c *sdk.Context) error {
	t, err := c.OperationTask()
	if err != nil {
		return err
	}
	arg, err := parse(t.Arg)
	if err != nil {
		return err
	}
	name, _ := tinyjson.Parse([]byte(t.Partition))
	part, ok := name.Int64()
	if !ok || part < 0 || part >= arg.parts {
		return sdk.Fail("bad_partitions", `partition `+t.Partition+` is none of 0 to "parts" - 1`)
	}
	texts, total, err := open(c, arg.texts)
	if err != nil {
		return err
	}
	from, to := part*total/arg.parts, (part+1)*total/arg.parts
	m := mapper{c: c, total: to - from, piece: make([]byte, pieceSize)}
	for _, text := range texts {
		if size := text.Size(); from < size && to > 0 {
			if err := m.count(text, max(from, 0), min(to, size)); err != nil {
				return err
			}
		}
		from, to = from-text.Size(), to-text.Size()
	}
	m.End()
	c.SetResult(words.Encode(m.Counts, m.Total))
	return nil
}

// mapper counts one partition.
type mapper struct {
	words.Counter
	c     *sdk.Context
	done  int64 // bytes
	total int64
	piece []byte
}

// count counts the words of a text that begin in a part of it.
func (m *mapper) count(text source, from, to int64) error {
	for at := m.Begin(from, to); at < text.Size() && !m.Done(); {
		piece := m.piece[:min(int64(len(m.piece)), text.Size()-at)]
		if _, err := text.ReadAt(piece, at); err != nil {
			return sdk.Retryable("unreadable", err.Error())
		}
		m.Write(piece)
		at += int64(len(piece))
		switch signals := m.c.Heartbeat(min(m.done+max(at-from, 0), m.total), m.total); {
		case signals.Cancelled():
			return sdk.ErrCancelled
		case signals.Draining():
			return sdk.Yield(0)
		}
	}
	m.done += to - from
	return nil
}

func main() {} // never called
