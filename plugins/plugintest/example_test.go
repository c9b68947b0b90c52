package plugintest_test

import (
	"context"
	"fmt"
	"os"

	"github.com/taskrt/taskrt/plugins/plugintest"
)

// exampleT stands for the *testing.T that a test is given.
type exampleT struct{ cleanups []func() }

func (*exampleT) Helper()                           {}
func (*exampleT) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (t *exampleT) Cleanup(f func())                { t.cleanups = append(t.cleanups, f) }
func (*exampleT) Context() context.Context          { return context.Background() }
func (*exampleT) TempDir() string                   { return os.TempDir() }

func (t *exampleT) end() {
	for _, f := range t.cleanups {
		f()
	}
}

// A first attempt, its result, and what it cost.
func ExampleModule_Run() {
	t := &exampleT{} // of a test: t *testing.T
	defer t.end()

	m := plugintest.Load(t, "../../testdata/wasm/echo.wasm")
	r := m.Run(t, "echo", &plugintest.Host{Params: []byte(`{"text":"a b"}`)})
	r.WantResult(t, `{"text": "a b"}`)
	fmt.Println(r)
	fmt.Println(m.Check("nosuch", nil))
	// Output:
	// succeeded with {"text":"a b"}, fuel 25, peak memory 131072 bytes
	// the module has no behavior nosuch, but echo
}

// A task whose worker dies while it runs goes on from its checkpoint.
func ExampleAtBeat() {
	t := &exampleT{} // of a test: t *testing.T
	defer t.end()

	m := plugintest.Load(t, "../../testdata/wasm/steps.wasm")
	task := &plugintest.Host{OnBeat: plugintest.AtBeat(3, plugintest.Kill)}
	m.Run(t, "steps", task).WantKind(t, plugintest.Killed)
	fmt.Printf("checkpoint %s\n", task.Checkpoint)
	r := m.Run(t, "steps", task) // the next attempt
	fmt.Printf("attempt %d: %s\n", task.Info.Attempt, r.Result)
	// Output:
	// checkpoint 2
	// attempt 2: {"from":2}
}

// Budgets: what the manifest allows can be less in a test.
func ExampleLimits() {
	t := &exampleT{} // of a test: t *testing.T
	defer t.end()

	m := plugintest.Load(t, "../../testdata/wasm/spin.wasm")
	r := m.Run(t, "spin", &plugintest.Host{Limits: plugintest.Limits{Fuel: 1_000_000}})
	fmt.Println(r)
	// Output:
	// failed with OUT_OF_FUEL: over the limit of 1000000 units of fuel, fuel 1000000, peak memory 65536 bytes
}
