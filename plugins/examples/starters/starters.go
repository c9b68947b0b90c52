// Package starters holds four small modules for a first look at a cluster: `taskrt dev --with-examples` pushes them.
package starters

import "embed"

//go:embed modules/*.wasm
var modules embed.FS

// Starter is a module with one thing to try.
type Starter struct {
	Name     string // modules/NAME.c is its source
	Behavior string
	Shows    string // what one sees
	Command  string // of a shell, that tries it
}

// All are the modules, the simplest first.
var All = []Starter{
	{"greet", "example.greet", "a task and its result", `taskrt submit example.greet --params '{"name":"world"}' --wait`},
	{"countdown", "example.countdown", "progress, a log, checkpoints", `taskrt submit example.countdown --params '{"from":20}' --wait`},
	{"unsteady", "example.unsteady", "failures and retries", `taskrt submit example.unsteady --params '{"succeeds_at":4}' --wait`},
	{"squares", "example.squares", "an operation of eight partitions", `taskrt op start example.squares --partitions 8 --arg '{"n":1000,"parts":8}' --wait`},
}

// Wasm returns the module.
func (s *Starter) Wasm() ([]byte, error) { return modules.ReadFile("modules/" + s.Name + ".wasm") }
