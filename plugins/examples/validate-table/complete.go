package main

import (
	"github.com/taskrt/taskrt/plugins/examples/table"
	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
	"github.com/taskrt/taskrt/plugins/sdk/go/tinyjson"
)

// maxShown is how many failures the result tells.
const maxShown = 100

// complete says whether the table is valid, how many rows were found to be right, which files were not right, and how
// many files nobody has looked at to the end. It may run more than once, and says the same each time. For a failed operation this is the
// result of the completion's task only: the operation has an error.
func complete(c *sdk.Context) error {
	t, err := c.OperationTask()
	if err != nil {
		return err
	}
	var rows, shown, unchecked int64
	bad := []byte{'['}
	for p, err := range c.Partitions(0) {
		if err != nil {
			return table.Unreadable("the partitions", err)
		}
		switch {
		case p.Error == nil:
			rows += rowsOf(&p)
		case p.Error.Code == "CANCELLED":
			unchecked++
		case shown < maxShown:
			if shown++; shown > 1 {
				bad = append(bad, ',')
			}
			bad = tinyjson.AppendString(tinyjson.AppendMember(append(bad, '{'), "file"), p.Name)
			bad = tinyjson.AppendString(tinyjson.AppendMember(bad, "code"), p.Error.Code)
			bad = append(tinyjson.AppendString(tinyjson.AppendMember(bad, "message"), p.Error.Message), '}')
		}
	}
	buf := tinyjson.AppendString(tinyjson.AppendMember([]byte{'{'}, "table"), t.Target)
	valid := "false"
	if t.Success {
		valid = "true"
	}
	buf = append(tinyjson.AppendMember(buf, "valid"), valid...)
	buf = tinyjson.AppendInt(tinyjson.AppendMember(buf, "rows"), rows)
	buf = append(append(tinyjson.AppendMember(buf, "bad"), bad...), ']')
	buf = tinyjson.AppendInt(tinyjson.AppendMember(buf, "unchecked"), unchecked)
	c.SetResult(append(buf, '}'))
	return nil
}

// rowsOf reads {"rows":N}, the result of a partition.
func rowsOf(p *sdk.Partition) int64 {
	v, err := tinyjson.Parse(p.Result)
	if err != nil {
		return 0
	}
	member, _ := v.Get("rows")
	n, _ := member.Int64()
	return n
}
