// Guest submits a child with its own params, and answers with the child's number.
package main

import (
	"strconv"

	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
	"github.com/taskrt/taskrt/plugins/sdk/go/tasks"
)

func init() {
	sdk.Register(sdk.Behavior{Name: "parent", Run: func(c *sdk.Context) error {
		n, err := tasks.Submit(tasks.Task{Behavior: "child", Params: c.Params(), Priority: 7})
		if err != nil {
			return err
		}
		c.SetResult([]byte(strconv.Itoa(n)))
		return nil
	}})
}

func main() {}
