// Validate-table checks that every row of a table is as the argument says. Each of the table's files is one partition of the operation.
// It is the model of an operation that may fail: the first bad row ends it, and its error says where the row is.
package main

import (
	"github.com/taskrt/taskrt/plugins/examples/table"
	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
	"github.com/taskrt/taskrt/plugins/sdk/go/tinyjson"
)

// beatRows is how many rows are done between two heartbeats: about a millisecond.
const beatRows = 1000

const params = `{"type":"object","properties":{"arg":{"type":"object","required":["files","columns"],"properties":{` +
	`"files":` + table.FilesSchema + `,"columns":` + rules + `},"additionalProperties":false}}}`

func init() {
	sdk.Register(sdk.Behavior{
		Name:             "validate-table",
		Description:      `checks a table: op start validate-table --target TABLE, arg {"files":{NAME:{"$blob":…}},"columns":[{"name":…,"type":"int"|"text"},…]}`,
		Run:              validate,
		ParamsSchema:     params,
		Retry:            sdk.Retry{MaxAttempts: 5}, // of what is unreadable; a bad row is not retried
		HeartbeatTimeout: sdk.Minute,
		RunTimeout:       6 * sdk.Hour,
		Operation: &sdk.Operation{
			Concurrency:      sdk.OnePerTarget,
			IncompatibleWith: []string{"build-index"},
			Restart:          true, // it keeps nothing that could go on elsewhere
			Complete:         "validate-table-complete",
		},
	})
	sdk.Register(sdk.Behavior{
		Name:        "validate-table-complete",
		Description: "says whether the table is valid",
		Run:         complete,
		Retry:       sdk.Retry{MaxAttempts: 5},
	})
}

// validate does one partition.
func validate(c *sdk.Context) error {
	t, err := c.OperationTask()
	if err != nil {
		return err
	}
	arg, err := tinyjson.Parse(t.Arg)
	if err != nil {
		return sdk.Fail("bad_params", "arg: "+err.Error())
	}
	columns, err := parseColumns(arg)
	if err != nil {
		return err
	}
	file, err := table.Open(c, arg, t.Partition)
	if err != nil {
		return err
	}
	rows, n := table.NewRows(file, 0), int64(0)
	for rows.Next() {
		n++
		if name, why := checkRow(rows, columns); why != "" {
			return badRow(t.Partition, n, rows.Offset(), name, why)
		}
		if n%beatRows != 0 {
			continue
		}
		switch signals := c.Heartbeat(rows.End(), file.Size()); {
		case signals.Cancelled():
			return sdk.ErrCancelled
		case signals.Draining():
			return sdk.Yield(0)
		}
	}
	if err := rows.Err(); err != nil {
		return table.Unreadable(t.Partition, err)
	}
	c.Heartbeat(file.Size(), file.Size())
	c.SetResult(append(tinyjson.AppendInt([]byte(`{"rows":`), n), '}'))
	return nil
}

func checkRow(rows *table.Rows, columns []column) (name, why string) {
	if rows.Cut() {
		return "", "it is longer than 65536 bytes"
	}
	return check(rows.Row(), columns)
}

// badRow is the failure that names the row, for people in its message and for programs in its details. Rows count from 1. The
// operation's error puts the partition's name before it, which is the name of the file.
func badRow(file string, row, offset int64, column, why string) error {
	message := string(tinyjson.AppendInt([]byte("row "), row)) + ": "
	details := tinyjson.AppendString(tinyjson.AppendMember([]byte{'{'}, "file"), file)
	details = tinyjson.AppendInt(tinyjson.AppendMember(details, "row"), row)
	details = tinyjson.AppendInt(tinyjson.AppendMember(details, "offset"), offset)
	if column != "" {
		message += column + " "
		details = tinyjson.AppendString(tinyjson.AppendMember(details, "column"), column)
	}
	return &sdk.Error{Code: "bad_row", Message: message + why, Details: append(details, '}')}
}

func main() {} // never called
