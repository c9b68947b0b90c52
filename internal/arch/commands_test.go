package arch_test

import (
	"go/ast"
	"go/token"
	"strconv"
	"strings"
	"testing"
)

// commandsWithoutLevel are as many commands of the log as every cluster of 0.1.0 knows. A later one comes with a feature
// level (SPEC C9).
const commandsWithoutLevel = 40

// unknownToTheModel are commands that the simulator does not make.
var unknownToTheModel = exceptions{
	"RaiseLevel": "every run begins with it, before the model does",
}

// TestEveryCommandIsShown: each command of the log has a line of a script, which shows what it does, is made by the simulator,
// and is carried out by the naive model too. A command that is younger than the log's first format says since which level
// clusters know it.
func TestEveryCommandIsShown(t *testing.T) {
	t.Parallel()
	commands := map[string]int{}
	scripted, simulated, modelled, leveled := map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, f := range load(t) {
		switch {
		case f.path == "task/command.go":
			readCommands(t, f, commands)
		case f.dir == "task" && strings.HasPrefix(f.path, "task/script"):
			made(f, scripted)
		case f.dir == "task" && !f.test:
			for fn := range f.functions() {
				if name, ok := strings.CutSuffix(funcName(fn), ".level"); ok {
					leveled[name] = true
				}
			}
		case f.dir == "internal/sim" && !f.test:
			made(f, simulated)
		case f.path == "internal/sim/naive/apply.go":
			ast.Inspect(f.ast, func(n ast.Node) bool {
				if c, ok := n.(*ast.CaseClause); ok {
					for _, e := range c.List {
						modelled[ofTask(e)] = true
					}
				}
				return true
			})
		}
	}
	if len(commands) < commandsWithoutLevel {
		t.Fatalf("only %d commands found in task/command.go: the search is broken", len(commands))
	}
	seen := used{}
	for name, number := range commands {
		if !scripted[name] {
			t.Errorf("no script of package task makes a task.%s: give it a verb in task/script*_test.go and a file in task/testdata", name)
		}
		if (!simulated[name] || !modelled[name]) && !seen.allows(t, unknownToTheModel, name) {
			t.Errorf("task.%s: the simulator makes it: %v (internal/sim), the naive model carries it out: %v (internal/sim/naive)", name, simulated[name], modelled[name])
		}
		if number > commandsWithoutLevel && !leveled[name] {
			t.Errorf("task.%s, command %d, says by no method level() since which feature level clusters know it", name, number)
		}
	}
	seen.complain(t, unknownToTheModel)
}

// readCommands reads the list of commands: `_ Command = Submit{} // 1`.
func readCommands(t *testing.T, f *file, commands map[string]int) {
	t.Helper()
	for _, d := range f.ast.Decls {
		list, ok := d.(*ast.GenDecl)
		if !ok || list.Tok != token.VAR {
			continue
		}
		for _, s := range list.Specs {
			spec := s.(*ast.ValueSpec)
			if typ, ok := spec.Type.(*ast.Ident); !ok || typ.Name != "Command" || len(spec.Values) != 1 {
				continue
			}
			name := spec.Values[0].(*ast.CompositeLit).Type.(*ast.Ident).Name
			number, err := strconv.Atoi(strings.TrimSpace(spec.Comment.Text()))
			if err != nil {
				t.Errorf("%s:%d: %s has no number behind it", f.path, f.line(spec), name)
			}
			commands[name] = number
		}
	}
}

// made notes of which types of package task a file has literals.
func made(f *file, types map[string]bool) {
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if lit, ok := n.(*ast.CompositeLit); ok {
			types[ofTask(lit.Type)] = true
		}
		return true
	})
}

// ofTask returns "Submit" of task.Submit, and "" of anything else.
func ofTask(e ast.Expr) string {
	if s, ok := e.(*ast.SelectorExpr); ok {
		if x, ok := s.X.(*ast.Ident); ok && x.Name == "task" {
			return s.Sel.Name
		}
	}
	return ""
}
