package wire

import "github.com/taskrt/taskrt/task"

// About returns the task that a command is about, of the commands that most entries consist of: submits, assignments and finishes. Of any other it returns "".
func About(c task.Command) (namespace, id string) {
	switch c := c.(type) {
	case task.Submit:
		return c.Namespace, c.ID
	case task.Assign:
		return c.Key.Namespace, c.Key.ID
	case task.Finish:
		return c.Key.Namespace, c.Key.ID
	}
	return "", ""
}
