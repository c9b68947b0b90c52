package arch_test

import (
	"go/ast"
	"testing"
)

// starters are the files that may start processes by themselves.
var starters = exceptions{
	"internal/leash/leash.go":      "the one place where processes are tied",
	"internal/leash/leash_test.go": "its tests",
	"cmd/taskrt/docs_test.go":      "ties what a page starts to a leash of the page's own",
	"internal/built/commit.go":     "git, tar and a compiler, which end by themselves; plugintest needs the package on every system",
	"plugins/plugintest/module.go": "for authors of plugins on every system; a compiler, which ends by itself",
}

// TestProcessesAreTied: what a test or a program of the house starts ends with it, because package leash starts it.
func TestProcessesAreTied(t *testing.T) {
	t.Parallel()
	seen := used{}
	inspectCalls(load(t), func(f *file, call *ast.CallExpr) {
		starts := isCall(call, "exec", "Command") || isCall(call, "exec", "CommandContext") || isCall(call, "os", "StartProcess") || isCall(call, "syscall", "ForkExec")
		if starts && !seen.allows(t, starters, f.path) {
			t.Errorf("%s:%d starts a process: package leash ties it to the process that starts it", f.path, f.line(call))
		}
	})
	seen.complain(t, starters)
}
