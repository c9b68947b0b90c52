// Build-index indexes a column of a table, one partition of the operation for each of its files: for every value, it lists where in
// the file the rows with this value are. It is the model of an operation that cannot fail: it saves how far it is, and goes on from
// there on another node, as often as needed.
package main

import (
	"github.com/taskrt/taskrt/plugins/examples/table"
	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
	"github.com/taskrt/taskrt/plugins/sdk/go/tinyjson"
)

// checkpointEvery is how much work a lost worker may cost, unless the argument says after how many rows to save.
const checkpointEvery = sdk.Second

// beatRows is how many rows are done between two heartbeats: about a millisecond.
const beatRows = 1000

const params = `{"type":"object","properties":{"arg":{"type":"object","required":["files","column"],"properties":{` +
	`"files":` + table.FilesSchema + `,"column":{"type":"integer","minimum":0,"maximum":63},` +
	`"checkpoint_rows":{"type":"integer","minimum":1}},"additionalProperties":false}}}`

func init() {
	sdk.Register(sdk.Behavior{
		Name:             "build-index",
		Description:      `indexes a column of a table: op start build-index --target TABLE --object INDEX, arg {"files":{NAME:{"$blob":…}},"column":N}`,
		Run:              build,
		ParamsSchema:     params,
		Retry:            sdk.Retry{MaxAttempts: sdk.Unlimited, MaxInterval: sdk.Minute}, // it cannot fail
		MaxLost:          1000,
		Limits:           sdk.Limits{Memory: 256 << 20},
		HeartbeatTimeout: sdk.Minute,
		RunTimeout:       6 * sdk.Hour,
		Operation:        &sdk.Operation{Concurrency: sdk.OnePerObject, Complete: "build-index-complete", Cleanup: "build-index-cleanup"},
	})
	sdk.Register(sdk.Behavior{
		Name:        "build-index-complete",
		Description: "makes one index of those of the files",
		Run:         complete,
		Retry:       sdk.Retry{MaxAttempts: sdk.Unlimited, MaxInterval: sdk.Minute},
	})
	sdk.Register(sdk.Behavior{
		Name:        "build-index-cleanup",
		Description: "says which part of an index was given up",
		Run:         cleanUp,
	})
}

// request is a partition's part of the operation.
type request struct {
	file           string
	column         int
	checkpointRows int64 // 0: by time
}

func parse(c *sdk.Context) (request, *sdk.Reader, error) {
	t, err := c.OperationTask()
	if err != nil {
		return request{}, nil, err
	}
	arg, err := tinyjson.Parse(t.Arg)
	if err != nil {
		return request{}, nil, sdk.Fail("bad_params", "arg: "+err.Error())
	}
	member, _ := arg.Get("column")
	column, ok := member.Int64()
	if !ok || column < 0 || column >= table.MaxFields {
		return request{}, nil, sdk.Fail("bad_params", "arg.column must be a number from 0 to 63")
	}
	member, _ = arg.Get("checkpoint_rows")
	every, _ := member.Int64()
	file, err := table.Open(c, arg, t.Partition)
	return request{t.Partition, int(column), every}, file, err
}

// build does one partition.
func build(c *sdk.Context) error {
	p, file, err := parse(c)
	if err != nil {
		return err
	}
	x := resume(c, file.Size())
	saved, savedRows := c.Elapsed(), x.rows
	rows := table.NewRows(file, x.end)
	for rows.Next() {
		x.row(rows, p.column)
		due := p.checkpointRows > 0 && x.rows-savedRows >= p.checkpointRows
		if x.rows%beatRows != 0 && !due {
			continue
		}
		signals := c.Heartbeat(x.end, file.Size())
		if signals.Cancelled() {
			return sdk.ErrCancelled
		}
		if p.checkpointRows == 0 {
			due = c.Elapsed()-saved >= checkpointEvery
		}
		if due || signals.Draining() {
			if err := save(c, x); err != nil {
				return err
			}
			saved, savedRows = c.Elapsed(), x.rows
		}
		if signals.Draining() {
			return sdk.Yield(0)
		}
	}
	if err := rows.Err(); err != nil {
		return table.Unreadable(p.file, err)
	}
	c.Heartbeat(x.end, file.Size())
	c.SetResult(x.segment(p.file))
	return nil
}

// row indexes the row that was just read. A row that is too long is indexed by the part that was read of it.
func (x *index) row(rows *table.Rows, column int) {
	x.rows++
	x.end = rows.End()
	if value, ok := table.Field(rows.Row(), column); ok {
		x.add(value, rows.Offset())
	} else {
		x.missing++
	}
}

// resume returns the index as an earlier attempt has saved it, or an empty one. A checkpoint that makes no sense is as good as
// none.
func resume(c *sdk.Context, size int64) *index {
	x := &index{entries: map[string]*entry{}}
	if text, ok := c.Checkpoint(); ok {
		if saved, ok := decode(text); ok && saved.end <= size {
			x = saved
			c.Log(sdk.LevelInfo, string(tinyjson.AppendInt([]byte("going on behind row "), x.rows)))
		}
	}
	x.runs = append(x.runs, run{c.Info().Attempt, x.rows})
	x.runs = x.runs[max(0, len(x.runs)-maxRuns):]
	return x
}

// save makes the index durable as far as it is. If the cluster has no leader now, or the index is too large, it goes on
// without.
func save(c *sdk.Context, x *index) error {
	switch err := c.SaveCheckpoint(x.encode()); err {
	case sdk.ErrUnavailable, sdk.ErrTooLarge: //nolint:errorlint // never wrapped, and package errors would be linked
		c.Log(sdk.LevelWarn, "no checkpoint now: "+err.Error())
		return nil
	default:
		return err
	}
}

// cleanUp runs where a part of the index was being built that was cancelled, or that another node goes on with. All that it
// leaves is its checkpoint, which ends with the partition's task: there is nothing to delete, so this one only tells.
func cleanUp(c *sdk.Context) error {
	t, err := c.OperationTask()
	if err != nil {
		return err
	}
	c.Log(sdk.LevelInfo, "the index of "+t.Partition+" was given up here")
	buf := tinyjson.AppendString(tinyjson.AppendMember([]byte{'{'}, "file"), t.Partition)
	buf = tinyjson.AppendInt(tinyjson.AppendMember(buf, "token"), int64(t.Token))
	c.SetResult(append(buf, '}'))
	return nil
}

func main() {} // never called
