package meter

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"slices"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// lane is one way to run a generated module.
type lane struct {
	name   string
	ticker *ticker
	module api.Module
}

// newLane runs a module in a runtime of its own.
func newLane(t testing.TB, name string, config wazero.RuntimeConfig, wasm []byte, slice int64) *lane {
	t.Helper()
	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, config)
	t.Cleanup(func() { rt.Close(ctx) })
	importTick(t, rt)
	k := &ticker{slice: slice}
	m, err := rt.InstantiateWithConfig(k.context(), wasm, wazero.NewModuleConfig().WithName(""))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return &lane{name, k, m}
}

// newLanes runs one generated module plain, counted by itself, metered without slack, and metered with different slices.
func newLanes(t testing.TB, rt wazero.Runtime, seed1, seed2 uint64) (g *generator, lanes []*lane) {
	t.Helper()
	g = generate(seed1, seed2, false)
	plain := g.build()
	metered, err := rewrite(plain, tuning{slack: slack, distance: distance, loops: int(seed1/3) % 4, effort: maxEffort})
	if err != nil {
		t.Fatal(err)
	}
	exact, err := rewrite(plain, tuning{slack: 0, distance: 10, loops: int(seed1 % 3), effort: maxEffort})
	if err != nil {
		t.Fatal(err)
	}
	add := func(wasm []byte, names ...string) {
		compiled, err := rt.CompileModule(context.Background(), wasm)
		if err != nil {
			t.Fatalf("seed %d, %d: %s: %v", seed1, seed2, names[0], err)
		}
		for i, name := range names {
			k := &ticker{slice: []int64{1, 7, 1e9}[i]}
			m, err := rt.InstantiateModule(k.context(), compiled, wazero.NewModuleConfig().WithName(""))
			if err != nil {
				t.Fatalf("seed %d, %d: %s: %v", seed1, seed2, name, err)
			}
			lanes = append(lanes, &lane{name, k, m})
		}
		t.Cleanup(func() { compiled.Close(context.Background()) })
	}
	add(plain, "plain")
	add(generate(seed1, seed2, true).build(), "counted")
	add(exact.Wasm, "exact")
	add(metered.Wasm, "slice 1", "slice 7", "slice 1e9")
	return g, lanes
}

// outcome is what can be seen of a call.
func (l *lane) outcome(function string, args []uint64, globals, steps int) string {
	ctx := l.ticker.context()
	if g, ok := l.module.(experimental.InternalModule).Global(steps).(api.MutableGlobal); ok {
		g.Set(60)
	}
	f := l.module.ExportedFunction(function)
	results, err := f.Call(ctx, args...)
	text := fmt.Sprintf("%x %s", defined(results, f.Definition().ResultTypes()), message(err))
	for i := range globals {
		text += fmt.Sprintf(" %v", l.module.(experimental.InternalModule).Global(i))
	}
	memory, _ := l.module.Memory().Read(0, l.module.Memory().Size())
	return fmt.Sprintf("%s %d %x", text, len(memory), hash(memory))
}

func hash(b []byte) (h uint64) {
	for len(b) >= 8 {
		h = (h ^ binary.LittleEndian.Uint64(b)) * 0x9e3779b97f4a7c15
		b = b[8:]
	}
	return h
}

// round makes up a call: of which function, and with what.
func (g *generator) round(round int) (name string, args []uint64) {
	i := round % len(g.sigs)
	for _, p := range g.sigs[i].params {
		args = append(args, g.Uint64()>>g.IntN(64))
		if p == v128 {
			args = append(args, g.Uint64())
		}
	}
	return fmt.Sprintf("f%d", i), args
}

// differ runs one generated module in all lanes. It returns the number of calls that returned.
func differ(t testing.TB, rt wazero.Runtime, seed1, seed2 uint64) (returned int) {
	t.Helper()
	g, lanes := newLanes(t, rt, seed1, seed2)
	defer func() {
		for _, l := range lanes {
			l.module.Close(context.Background())
		}
	}()
	for round := range 2 * len(g.sigs) {
		name, args := g.round(round)
		var outcomes []string
		for _, l := range lanes {
			outcomes = append(outcomes, l.outcome(name, args, len(g.globals), g.steps))
		}
		for n, o := range outcomes {
			if o != outcomes[0] {
				t.Fatalf("seed %d, %d: call %d of %s%x: %s gives\n%s\nplain gives\n%s", seed1, seed2, round, name, args, lanes[n].name, o, outcomes[0])
			}
		}
		trapped := slices.Contains([]byte(outcomes[0]), 'w') // "wasm error"
		agree(t, fmt.Sprintf("seed %d, %d: call %d of %s", seed1, seed2, round, name), lanes, g.counter, trapped)
		if trapped {
			return returned // from now on, what is charged differs from what was executed
		}
		returned++
	}
	return returned
}

// agree compares what was used: by instances with different slices, and with what was executed.
func agree(t testing.TB, what string, lanes []*lane, counter int, trapped bool) {
	t.Helper()
	executed := int64(lanes[1].module.(experimental.InternalModule).Global(counter).Get())
	exact := lanes[2].ticker.total(lanes[2].module)
	if exact != executed && !trapped { // a trap loses what was not written yet: see emitter.charge
		t.Fatalf("%s: charged %d without slack, executed %d", what, exact, executed)
	}
	used := lanes[3].ticker.total(lanes[3].module)
	if used < exact && !trapped {
		t.Fatalf("%s: charged %d with slack, %d without", what, used, exact)
	}
	for _, l := range lanes[4:] {
		if n := l.ticker.total(l.module); n != used {
			t.Fatalf("%s: %s used %d, %s used %d", what, l.name, n, lanes[3].name, used)
		}
	}
}

var seeds = flag.Uint64("meter.seeds", 300, "generated modules to compare")

func TestDifferential(t *testing.T) {
	t.Parallel()
	rt := metering(t, features)
	returned := 0
	for seed := range *seeds {
		returned += differ(t, rt, seed, 1)
	}
	t.Log(returned, "calls returned")
	if returned < int(*seeds) {
		t.Errorf("only %d calls returned: the rest trapped", returned)
	}
}

func FuzzDifferential(f *testing.F) {
	for seed := range uint64(10) {
		f.Add(seed, uint64(2))
	}
	rt := metering(f, features)
	f.Fuzz(func(t *testing.T, seed1, seed2 uint64) { differ(t, rt, seed1, seed2) })
}
