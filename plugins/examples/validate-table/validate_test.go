package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/abi"
	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
	"github.com/taskrt/taskrt/plugins/sdk/go/sdktest"
)

const columns = `[{"name":"id","type":"int","min":1},{"name":"city","type":"text","max_bytes":12},{"name":"cents","type":"int","min":-5,"max":99},` +
	`{"name":"note","type":"text","optional":true}]`

// partition is what a partition of one file is given.
func partition(text, columns string) *sdktest.Host {
	blob := sdktest.BlobName([]byte(text))
	return &sdktest.Host{
		Params: fmt.Appendf(nil, `{"operation":"op-1","partition":"part-000.tsv","target":"orders","object":"",
			"arg":{"files":{"part-000.tsv":{"$blob":%q}},"columns":%s}}`, blob, columns),
		Blobs: map[string][]byte{blob: []byte(text)},
	}
}

func TestValid(t *testing.T) {
	for text, rows := range map[string]int{
		"":                       0,
		"1\tOslo\t7\t\n":         1,
		"1\tOslo\t-5\tgift":      1,
		"9\tReykjavík\t99\t北京\n": 1,
		strings.Repeat("123456789012345678\tOslo\t0\t\n", 12_345): 12_345,
	} {
		r := sdktest.Run(t, "validate-table", partition(text, columns))
		if r.Outcome != abi.OutcomeOK || string(r.Result) != fmt.Sprintf(`{"rows":%d}`, rows) {
			t.Errorf("%.40q: %v", text, r)
		}
	}
}

// TestBadRows: the error names row, column and why; its details name the file too.
func TestBadRows(t *testing.T) {
	const good = "1\tOslo\t7\t\n"
	for row, want := range map[string]string{
		"":                            `id is empty`,
		"x\tOslo\t7\t":                `id is no integer: "x"`,
		"0\tOslo\t7\t":                `id is not from 1 to 9223372036854775807: "0"`,
		"1234567890123456789\to\t7\t": `id is no integer: "1234567890123456789"`,
		"1":                           `city is missing`,
		"1\tOslo":                     `cents is missing`,
		"1\tOslo\t7":                  `note is missing`,
		"1\t\t7\t":                    `city is empty`,
		"1\tValparaíso X\t7\t":        `city is longer than 12 bytes`,
		"1\t\xff\t7\t":                `city is no UTF-8`,
		"1\tOslo\t-6\t":               `cents is not from -5 to 99: "-6"`,
		"1\tOslo\t+6\t":               `cents is no integer: "+6"`,
		"1\tOslo\t-\t":                `cents is no integer: "-"`,
		"1\tOslo\t7\t\tmore":          `it has more than 4 fields`,
		strings.Repeat("1", 70_000):   `it is longer than 65536 bytes`,
		"1\tOslo\t" + strings.Repeat("n/a", 50) + "\t": `cents is no integer: "` + strings.Repeat("n/a", 13) + `n"…`,
	} {
		text := strings.Repeat(good, 1699) + row + "\n" + good
		h := partition(text, columns)
		r := sdktest.Run(t, "validate-table", h)
		if r.Outcome != abi.OutcomePermanent || r.Code != "bad_row" || r.Message != "row 1700: "+want {
			t.Errorf("%.40q: %v", row, r)
		}
		var d struct {
			File, Column string
			Row, Offset  int
		}
		if err := json.Unmarshal(r.Details, &d); err != nil || d.File != "part-000.tsv" || d.Row != 1700 || d.Offset != 1699*len(good) {
			t.Errorf("%.40q: details %s", row, r.Details)
		}
		if name, _, _ := strings.Cut(want, " "); d.Column != name && d.Column != "" {
			t.Errorf("%.40q: column %q", row, d.Column)
		}
	}
}

func TestSignals(t *testing.T) {
	text := strings.Repeat("1\tOslo\t7\t\n", 3000)
	for signal, want := range map[sdk.Signals]abi.Outcome{sdk.SignalCancel: abi.OutcomeCancelled, sdk.SignalDraining: abi.OutcomeYield} {
		h := partition(text, columns)
		h.OnBeat = func(n int) sdk.Signals {
			if n == 2 {
				return signal
			}
			return 0
		}
		if r := sdktest.Run(t, "validate-table", h); r.Outcome != want || len(h.Beats) != 2 || len(h.Saved) > 0 {
			t.Errorf("signal %d: %v after %d beats", signal, r, len(h.Beats))
		}
	}
}

func TestBadParams(t *testing.T) {
	for _, columns := range []string{"null", "[]", "{}", "[1]", `[{"name":"id"}]`, `[{"type":"int"}]`} {
		if r := sdktest.Run(t, "validate-table", partition("", columns)); r.Outcome != abi.OutcomePermanent || r.Code != "bad_params" {
			t.Errorf("%s: %v", columns, r)
		}
	}
	h := partition("1\n", columns)
	h.Blobs = nil
	if r := sdktest.Run(t, "validate-table", h); r.Outcome != abi.OutcomeRetryable || r.Code != "unreadable" {
		t.Error(r)
	}
}

func TestComplete(t *testing.T) {
	failed := func(name, code, message string) sdktest.Partition {
		return sdktest.Partition{Partition: name, Status: "FAILURE", Error: &sdktest.PartitionError{Code: code, Message: message}}
	}
	good := func(name string, rows int) sdktest.Partition {
		return sdktest.Partition{Partition: name, Status: "SUCCESS", Result: fmt.Appendf(nil, `{"rows":%d}`, rows)}
	}
	many := []sdktest.Partition{}
	for i := range 150 {
		many = append(many, failed(fmt.Sprintf("p%03d", i), "bad_row", "why"))
	}
	for _, c := range []struct {
		success    bool
		partitions []sdktest.Partition
		want       string
	}{
		{true, []sdktest.Partition{good("a", 5), good("b", 0), good("c", 7), good("d", 8)}, `{"table":"orders","valid":true,"rows":20,"bad":[],"unchecked":0}`},
		{false, []sdktest.Partition{good("a", 5), failed("b", "CANCELLED", "stopped"), failed("c", "bad_row", "c row 7: x"), failed("d", "TRAP", "boom")},
			`{"table":"orders","valid":false,"rows":5,"bad":[{"file":"c","code":"bad_row","message":"c row 7: x"},{"file":"d","code":"TRAP","message":"boom"}],"unchecked":1}`},
		{false, many, ""},
	} {
		h := &sdktest.Host{Partitions: c.partitions, Params: fmt.Appendf(nil,
			`{"operation":"op-1","success":%v,"counts":{"success":%d,"failure":0},"target":"orders","object":"","arg":{}}`, c.success, len(c.partitions))}
		r := sdktest.Run(t, "validate-table-complete", h)
		if c.want == "" {
			var got struct{ Bad []any }
			if err := json.Unmarshal(r.Result, &got); err != nil || len(got.Bad) != maxShown {
				t.Errorf("%d failures are told: %v", len(got.Bad), err)
			}
		} else if string(r.Result) != c.want {
			t.Errorf("%v, want %s", r, c.want)
		}
	}
}
