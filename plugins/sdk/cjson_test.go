package sdk_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/internal/ctool"
	"github.com/taskrt/taskrt/internal/leash"
	"github.com/taskrt/taskrt/plugins/plugintest"
)

// cMaxDepth is TASKRT_JSON_DEPTH of the C SDK.
const cMaxDepth = 128

// TestCJSON compares the C SDK's JSON with encoding/json: which texts are JSON, and what they hold. It runs as a guest, and natively
// with sanitizers, which see what a guest's memory hides.
func TestCJSON(t *testing.T) {
	m := plugintest.New(t, plugintest.Config{Wasm: ctool.Build(t, "c/tests/json.c")})
	native := sanitized(t)
	compare := func(t *testing.T, texts []string) {
		t.Helper()
		var params []byte
		for _, text := range texts {
			params = binary.LittleEndian.AppendUint32(params, uint32(len(text)))
			params = append(params, text...)
		}
		r := m.Run(t, "json", &plugintest.Host{Params: params})
		r.WantKind(t, plugintest.Succeeded)
		if r.PeakMemory > 12<<20 {
			t.Errorf("%d bytes of memory", r.PeakMemory)
		}
		judgeC(t, texts, r.Result)
		if out := native(t, params); !bytes.Equal(out, r.Result) {
			t.Errorf("natively it says %.300s", out)
		}
	}
	t.Run("handmade", func(t *testing.T) {
		compare(t, append(handmadeTexts(), nested(cMaxDepth), nested(cMaxDepth+1), strings.Repeat(`{"a":`, cMaxDepth)+"1"+strings.Repeat("}", cMaxDepth)))
	})
	t.Run("changed", func(t *testing.T) { compare(t, changedTexts()) })
	t.Run("random", func(t *testing.T) { compare(t, randomTexts(rand.New(rand.NewPCG(1, 2)), 40_000)) })
	t.Run("written", func(t *testing.T) { compare(t, writtenTexts(t, rand.New(rand.NewPCG(3, 4)), 2_000)) })
	t.Run("numbers", func(t *testing.T) { compare(t, numberTexts(rand.New(rand.NewPCG(5, 6)), 20_000)) })
	t.Run("hostile", func(t *testing.T) {
		for name, text := range hostileTexts() {
			t.Run(name, func(t *testing.T) { compare(t, []string{text}) })
		}
	})
}

// sanitized returns a function that runs the guest natively.
func sanitized(t *testing.T) func(*testing.T, []byte) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "json")
	cmd := leash.CommandContext(t.Context(), "gcc", "-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined", "-fno-sanitize-recover=all",
		"-I", ctool.Header(t), "-o", file, ctool.Source(t, "c/tests/json.c"), ctool.Source(t, "c/tests/host.c"))
	if out, err := cmd.CombinedOutput(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("%v\n%s", err, out)
		}
		t.Logf("not compared with a native build: %v\n%s", err, out)
		return func(*testing.T, []byte) []byte { return nil }
	}
	return func(t *testing.T, params []byte) []byte {
		t.Helper()
		var out, log bytes.Buffer
		cmd := leash.CommandContext(t.Context(), file)
		cmd.Env = append(os.Environ(), "ASAN_OPTIONS=detect_leaks=0") // an arena gives nothing back
		cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(params), &out, &log
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v\n%.3000s", err, log.String())
		}
		return out.Bytes()
	}
}

// judgeC compares the guest's answers with what encoding/json finds.
func judgeC(t *testing.T, texts []string, result []byte) {
	t.Helper()
	var answers []json.RawMessage
	if err := json.Unmarshal(result, &answers); err != nil || len(answers) != len(texts) {
		t.Fatalf("%d answers for %d texts: %v", len(answers), len(texts), err)
	}
	failed := 0
	for i, text := range texts {
		if err := judgeCText(text, answers[i]); err != nil {
			t.Errorf("%.300q: %v", text, err)
			if failed++; failed == 20 {
				t.Fatal("and so on")
			}
		}
	}
}

func judgeCText(text string, answer json.RawMessage) error {
	valid := json.Valid([]byte(text)) && deepest(text) <= cMaxDepth
	if answer[0] != '[' {
		if at, err := strconv.Atoi(string(answer)); err != nil || valid || at > len(text) {
			return fmt.Errorf("refused at byte %s", answer)
		}
		return nil
	}
	if !valid {
		return fmt.Errorf("read as %.300s", answer)
	}
	got, err := decodeNumbers(answer)
	if err != nil {
		return fmt.Errorf("the guest wrote %.300s: %w", answer, err)
	}
	want, err := decodeNumbers([]byte(text))
	if err != nil {
		return err
	}
	return sameValue(got.([]any)[0], want, sameCNumber)
}

// deepest is how deep a text that is JSON nests.
func deepest(text string) (most int) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	for depth := 0; ; {
		token, err := d.Token()
		if err != nil {
			return most
		}
		switch token {
		case json.Delim('['), json.Delim('{'):
			depth++
			most = max(most, depth)
		case json.Delim(']'), json.Delim('}'):
			depth--
		}
	}
}

// sameCNumber: an integer that fits is one; everything else is the nearest float64, if there is one.
func sameCNumber(got any, want string) error {
	differ := fmt.Errorf("got %.300v, want %s", got, want)
	if n, err := strconv.ParseInt(want, 10, 64); err == nil && want != "-0" {
		if got != json.Number(strconv.FormatInt(n, 10)) {
			return differ
		}
		return nil
	}
	b, err := strconv.ParseFloat(want, 64)
	if errors.Is(err, strconv.ErrRange) {
		if got != "out of range" {
			return differ
		}
		return nil
	}
	number, ok := got.(json.Number)
	if a, err := strconv.ParseFloat(number.String(), 64); !ok || err != nil || math.Float64bits(a) != math.Float64bits(b) {
		return differ
	}
	return nil
}

// numberTexts are numbers where rounding is hard: halfway between two doubles or nearly, at the ends of the range, and with many
// digits.
func numberTexts(r *rand.Rand, n int) []string {
	texts := []string{
		"1e-324", "2e-324", "2.4703282292062327208e-324", "2.4703282292062328e-324", "2.2250738585072012e-308", "1.7976931348623158e308", "1.7976931348623159e308", "1e309", "1e308",
		"-1.7976931348623158e308", "1e999999999999", "1e-999999999999", "0e999999999999", "100e-2", "1" + strings.Repeat("0", 400) + "e-400", "0." + strings.Repeat("0", 400) + "1e401",
		"9007199254740993." + strings.Repeat("0", 900) + "1", "9007199254740993." + strings.Repeat("0", 900), "17976931348623157" + strings.Repeat("9", 292), "123456789012345678e1",
	}
	for range n {
		f := math.Float64frombits(r.Uint64() &^ (1 << 62))
		if r.IntN(2) == 0 {
			f = math.Float64frombits(r.Uint64())
		}
		if math.IsNaN(f) || math.IsInf(f, 0) {
			continue
		}
		switch r.IntN(4) {
		case 0: // any number of digits
			texts = append(texts, strconv.FormatFloat(f, 'e', r.IntN(25), 64))
		case 1: // all of them
			texts = append(texts, strconv.FormatFloat(f, 'e', 800, 64))
		case 2: // the middle between two
			texts = append(texts, middle(f))
		case 3: // and a little beside it
			mantissa, exponent, _ := strings.Cut(middle(f), "e")
			texts = append(texts, mantissa+[]string{"1", "00001", "0000000000000000000000000001"}[r.IntN(3)]+"e"+exponent)
		}
	}
	return texts
}

// middle is the number between a double and the next one, exactly.
func middle(f float64) string {
	next := math.Nextafter(f, math.Inf(1))
	if math.IsInf(next, 0) || f == 0 {
		return "1"
	}
	a, _ := new(big.Float).SetPrec(2000).SetString("0")
	a.Add(big.NewFloat(f), a).Add(a, big.NewFloat(next)).Quo(a, big.NewFloat(2))
	return a.Text('e', 800)
}
