package meter

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/taskrt/taskrt/runtime/wasmbin"
)

// command is one step of a script of the WebAssembly specification's test suite, as wast2json writes them.
type command struct {
	Type     string
	Line     int
	Name     string
	Filename string
	As       string
	Text     string // of the expected error
	Action   struct {
		Type, Field, Module string
		Args                []value
	}
	Expected []value
	as       string // of a module: what the next command registers it as
}

type value struct {
	Type     string
	LaneType string `json:"lane_type"`
	Value    any
}

// bits returns a value as wazero takes and gives it: v128 as two numbers. ok is false for what has no single
// representation: any NaN, any reference.
func (v value) bits() (bits []uint64, ok bool) {
	if lanes, isVector := v.Value.([]any); isVector {
		bits, width := make([]uint64, 2), 128/len(lanes)
		for i, lane := range lanes {
			n, err := parse(lane.(string), width)
			if err != nil {
				return nil, false
			}
			bits[i*width/64] |= n << (i * width % 64)
		}
		return bits, true
	}
	text, isString := v.Value.(string)
	switch {
	case !isString:
		return nil, false
	case text == "null":
		return []uint64{0}, true
	case v.Type == "externref": // 0 is null for wazero: any other number will do
		n, err := parse(text, 64)
		return []uint64{n + 1}, err == nil
	}
	n, err := parse(text, map[bool]int{true: 32, false: 64}[strings.HasSuffix(v.Type, "32")])
	return []uint64{n}, err == nil
}

// parse reads a number of some bits, which may be written with a sign.
func parse(text string, width int) (uint64, error) {
	if strings.HasPrefix(text, "-") {
		n, err := strconv.ParseInt(text, 10, width)
		return uint64(n) & (math.MaxUint64 >> (64 - width)), err
	}
	return strconv.ParseUint(text, 10, width)
}

// script runs the commands of one file in one runtime.
type script struct {
	rt      wazero.Runtime
	dir     string
	metered bool
	edit    func([]byte) []byte // if set, is applied to every module
	named   map[string]api.Module
	all     []api.Module
	made    api.Module // last
	last    api.Module // that is not expected to fail
}

func newScript(ctx context.Context, t testing.TB, dir, spectest string, metered bool) *script {
	t.Helper()
	features := features
	if strings.HasSuffix(filepath.Dir(dir), "v1") {
		features = api.CoreFeaturesV1 // the code that is added needs no more, either
	}
	s := &script{dir: dir, metered: metered, named: make(map[string]api.Module)}
	s.rt = metering(t, features)
	wasm, err := os.ReadFile(spectest)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.rt.InstantiateWithConfig(ctx, wasm, wazero.NewModuleConfig().WithName("spectest")); err != nil {
		t.Fatal(err)
	}
	return s
}

// instantiate makes an instance under a name by which others can import from it.
func (s *script) instantiate(ctx context.Context, file, as string) error {
	wasm, err := os.ReadFile(filepath.Join(s.dir, file))
	if err != nil {
		return err
	}
	if s.edit != nil {
		wasm = s.edit(wasm)
	}
	if s.metered {
		m, err := Rewrite(wasm)
		if err != nil {
			return fmt.Errorf("rewrite: %w", err)
		}
		wasm = m.Wasm
	}
	m, err := s.rt.InstantiateWithConfig(ctx, wasm, wazero.NewModuleConfig().WithName(as).WithStartFunctions())
	if err == nil {
		s.made = m
		s.all = append(s.all, m)
	}
	return err
}

// door refuses what a node refuses before anything is compiled. wazero drops element segments that do not fit, and
// all segments behind them, without a word. A node refuses modules that import a table whatever they do with it.
func (s *script) door(file string) error {
	wasm, err := os.ReadFile(filepath.Join(s.dir, file))
	if err != nil {
		return err
	}
	m, err := wasmbin.Parse(wasm)
	if err != nil {
		return err
	}
	for _, i := range m.Imports {
		if i.Kind == wasmbin.KindTable {
			return errors.New("imports a table")
		}
	}
	return m.CheckSegments()
}

// readScript reads the commands of a file. Commands that register a module are left out: this is done along with the
// command that makes the module.
func readScript(t testing.TB, file string) (commands []command) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var parsed struct{ Commands []command }
	if err := json.Unmarshal(data, &parsed); err != nil {
		t.Fatal(err)
	}
	for _, c := range parsed.Commands {
		if c.Type != "register" {
			commands = append(commands, c)
		} else if n := len(commands); n > 0 {
			commands[n-1].as = c.As
		}
	}
	return commands
}

// do carries out one command.
func (s *script) do(ctx context.Context, c command) (results []uint64, err error) {
	switch c.Type {
	case "module":
		if err := s.instantiate(ctx, c.Filename, c.as); err != nil {
			return nil, err
		}
		s.last = s.made
		s.named[c.Name] = s.last
		return nil, nil
	case "assert_unlinkable", "assert_uninstantiable":
		err := s.instantiate(ctx, c.Filename, "")
		if err == nil {
			err = s.door(c.Filename)
		}
		return nil, err
	}
	m := s.last
	if c.Action.Module != "" {
		m = s.named[c.Action.Module]
	}
	if m == nil {
		return nil, errors.New("no module")
	}
	if c.Action.Type == "get" {
		return []uint64{m.ExportedGlobal(c.Action.Field).Get()}, nil
	}
	var args []uint64
	for _, a := range c.Action.Args {
		bits, _ := a.bits()
		args = append(args, bits...)
	}
	f := m.ExportedFunction(c.Action.Field)
	results, err = f.Call(ctx, args...)
	return defined(results, f.Definition().ResultTypes()), err
}

// defined clears the upper halves of numbers of 32 bits, which may hold anything.
func defined(results []uint64, types []api.ValueType) []uint64 {
	i := 0
	for _, t := range types {
		switch t {
		case api.ValueTypeI32, api.ValueTypeF32:
			if i < len(results) {
				results[i] = uint64(uint32(results[i]))
			}
		case 0x7b: // v128
			i++
		}
		i++
	}
	return results
}

// TestSpecification runs the specification's test suite as wazero's tests have it, on plain and on metered modules.
func TestSpecification(t *testing.T) {
	t.Parallel()
	root := filepath.Join(sourceOf(t), "internal", "integration_test", "spectest")
	total := 0
	for _, version := range []string{"v1", "v2", "tail-call", "extended-const"} {
		files, err := filepath.Glob(filepath.Join(root, version, "testdata", "*.json"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no scripts: %v", version, err)
		}
		for _, file := range files {
			t.Run(version+"/"+strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
				total += runScript(t, file, filepath.Join(root, "testdata", "spectest.wasm"))
			})
		}
	}
	t.Log(total, "commands")
	if total < 40_000 {
		t.Errorf("only %d commands ran", total)
	}
}

func runScript(t *testing.T, file, spectest string) (ran int) {
	ctx := (&ticker{slice: 1000}).context()
	plain := newScript(ctx, t, filepath.Dir(file), spectest, false)
	metered := newScript(ctx, t, filepath.Dir(file), spectest, true)
	for _, c := range readScript(t, file) {
		switch c.Type {
		case "assert_malformed", "assert_invalid": // there is nothing to run
			continue
		case "assert_exhaustion": // of the host's stack, at a depth that depends on the size of frames
			continue
		}
		want, wantErr := plain.do(ctx, c)
		got, gotErr := metered.do(ctx, c)
		if !slices.Equal(got, want) || message(gotErr) != message(wantErr) {
			t.Errorf("line %d: %s %s: metered gives %x, %v; plain gives %x, %v",
				c.Line, c.Type, c.Action.Field, got, gotErr, want, wantErr)
		}
		if err := c.expected(want, wantErr); err != nil {
			t.Errorf("line %d: %s %s: the suite expects otherwise: %v", c.Line, c.Type, c.Action.Field, err)
		}
		ran++
	}
	sameState(t, plain.all, metered.all)
	return ran
}

// message is the first line of an error, without the function's index: it is higher by one.
func message(err error) string {
	if err == nil {
		return ""
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	return functionIndex.ReplaceAllString(text, "function")
}

var functionIndex = regexp.MustCompile(`function\[\d+\]`)

// expected checks an outcome against what the suite says. Without it, a runner that runs nothing would find no
// difference.
func (c command) expected(got []uint64, err error) error {
	switch c.Type {
	case "assert_trap", "assert_unlinkable", "assert_uninstantiable":
		if err == nil {
			return errors.New("it succeeded")
		}
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range c.Expected {
		n := 1
		if e.Type == "v128" {
			n = 2
		}
		if want, ok := e.bits(); ok && !slices.Equal(got[:n], want) && c.Type == "assert_return" {
			return fmt.Errorf("got %x, want %x", got[:n], want)
		}
		got = got[n:]
	}
	return nil
}

// sameState compares memories and exported globals.
func sameState(t *testing.T, plain, metered []api.Module) {
	t.Helper()
	if len(plain) != len(metered) {
		t.Fatalf("%d modules instead of %d", len(metered), len(plain))
	}
	for i := range plain {
		sameMemory(t, i, plain[i].Memory(), metered[i].Memory())
		sameGlobals(t, i, plain[i].(experimental.InternalModule), metered[i].(experimental.InternalModule))
	}
}

func sameMemory(t *testing.T, i int, plain, metered api.Memory) {
	t.Helper()
	if reflect.ValueOf(plain).IsNil() {
		return
	}
	x, _ := plain.Read(0, plain.Size())
	y, _ := metered.Read(0, metered.Size())
	if !bytes.Equal(x, y) {
		t.Errorf("module %d: memories of %d and %d bytes differ", i, len(x), len(y))
	}
}

// sameGlobals compares all globals, exported or not: their indexes are the same. References are addresses.
func sameGlobals(t *testing.T, i int, plain, metered experimental.InternalModule) {
	t.Helper()
	for n := range plain.NumGlobal() {
		x, y := plain.Global(n), metered.Global(n)
		numeric := x.Type() != api.ValueTypeExternref && x.Type() != 0x70
		if x.Type() != y.Type() || numeric && x.Get() != y.Get() {
			t.Errorf("module %d: global %d is %v, plain %v", i, n, y, x)
		}
	}
}
