package tasks_test

import (
	"fmt"

	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
	"github.com/taskrt/taskrt/plugins/sdk/go/sdktest"
	"github.com/taskrt/taskrt/plugins/sdk/go/tasks"
)

// exampleT stands for the *testing.T that a test is given.
type exampleT struct{}

func (exampleT) Helper()                           {}
func (exampleT) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// A behavior that has its work done by others. Each child has an ID of its own, so that none is made twice if the parent runs
// again.
func ExampleSubmit() {
	sdk.Register(sdk.Behavior{Name: "book", Run: func(c *sdk.Context) error { // in a plugin: in init
		for chapter := range 2 {
			_, err := tasks.Submit(tasks.Task{
				Behavior: "chapter", ID: fmt.Sprintf("%s-%d", c.Info().ID, chapter),
				Params: fmt.Appendf(nil, `{"chapter":%d}`, chapter), // with package sdkjson: any value that encoding/json writes
			})
			if err != nil {
				return err
			}
		}
		return nil
	}})

	t := exampleT{} // of a test: t *testing.T
	h := &sdktest.Host{Tasks: []string{"chapter"}}
	sdktest.Run(t, "book", h)
	for _, c := range h.Children {
		fmt.Printf("%s %s %s\n", c.Behavior, c.ID, c.Params)
	}
	// Output:
	// chapter test-task-0 {"chapter":0}
	// chapter test-task-1 {"chapter":1}
}
