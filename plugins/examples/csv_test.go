package examples_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/internal/ctool"
	"github.com/taskrt/taskrt/plugins/plugintest"
)

func buildCSV(t *testing.T) *plugintest.Module {
	t.Helper()
	return plugintest.New(t, plugintest.Config{Wasm: ctool.Build(t, "csv-to-json/main.c")})
}

// csvParams are params with the text itself.
func csvParams(t *testing.T, text string) []byte {
	t.Helper()
	params, err := json.Marshal(map[string]string{"csv": text})
	if err != nil {
		t.Fatal(err)
	}
	return params
}

func TestCSV(t *testing.T) {
	t.Parallel()
	m := buildCSV(t)
	for text, want := range map[string]string{
		"a,b\n1,2\n":                          `[{"a":"1","b":"2"}]`,
		"a,b\r\n1,2\r\n3,4":                   `[{"a":"1","b":"2"},{"a":"3","b":"4"}]`,
		"a,b":                                 `[]`,
		"a,b\n\n\r\n1,2\n\n":                  `[{"a":"1","b":"2"}]`,
		"a,b\n,\n":                            `[{"a":"","b":""}]`,
		"a\n\"\"\n":                           `[{"a":""}]`,
		"a,b\n1,\n2,":                         `[{"a":"1","b":""},{"a":"2","b":""}]`,
		"\"a,\"\"b\"\"\",c\n\"x\r\ny\",\"z\"": `[{"a,\"b\"":"x\r\ny","c":"z"}]`,
		"\ufeffa,é\n 1 ,北京\n":                 `[{"a":" 1 ","é":"北京"}]`,
		"a\n\"\"\"\"\n":                       `[{"a":"\""}]`,
		"a\n\x00\x01\n":                       `[{"a":"\u0000\u0001"}]`,
		",b\n1,2":                             `[{"":"1","b":"2"}]`,
	} {
		h := &plugintest.Host{}
		m.Run(t, "csv-to-json", &plugintest.Host{Params: csvParams(t, text)}).WantResult(t, want)
		h.Params = fmt.Appendf(nil, `{"csv":{"$blob":%q}}`, h.AddBlob([]byte(text)))
		m.Run(t, "csv-to-json", h).WantResult(t, want)
	}
	m.Run(t, "csv-to-json", &plugintest.Host{Params: []byte(`{"delimiter":";","csv":"a;b\n1,5;2"}`)}).WantResult(t, `[{"a":"1,5","b":"2"}]`)
	m.Run(t, "csv-to-json", &plugintest.Host{Params: []byte(`{"delimiter":"\t","csv":"a\tb\n1\t2"}`)}).WantResult(t, `[{"a":"1","b":"2"}]`)
	h := &plugintest.Host{}
	h.Params = fmt.Appendf(nil, `{"csv":{"$blob":%q}}`, h.AddBlob([]byte("a\n\xff\n")))
	m.Run(t, "csv-to-json", h).WantResult(t, `[{"a":"`+"\ufffd"+`"}]`)
}

func TestCSVErrors(t *testing.T) {
	t.Parallel()
	m := buildCSV(t)
	var columns []string
	for i := range 1001 {
		columns = append(columns, fmt.Sprint(i))
	}
	for text, want := range map[string]string{
		"":                                 "line 1, column 1: there is no header",
		"\n\r\n":                           "line 1, column 1: there is no header",
		"a,b\n1,2\n3":                      "line 3, column 1: a record of fewer fields than the header's 2",
		"a,b\n1,2\n\"x\ny\"\n1,2":          "line 3, column 1: a record of fewer fields than the header's 2",
		"a,b\n1,2,3\n":                     "line 2, column 6: more fields than the header's 2",
		"a,b\n1,é\"y":                      "line 2, column 4: a quote in a field that does not begin with one",
		"a,b\n\"1\n2\",\"3\" \n":           "line 3, column 7: text behind the quote that ends a field",
		"a,b\n1,\"2\n3\n":                  "line 2, column 3: a quoted field has no end",
		"a,b\r1,2":                         "line 1, column 5: a carriage return without a line feed",
		"a,b\r":                            "line 1, column 4: a carriage return without a line feed",
		"a,b,a\n":                          "line 1, column 6: two columns are called \"a\"",
		"a\n" + strings.Repeat("x", 65537): "line 2, column 65537: a field of more than 65536 bytes",
		strings.Join(columns, ","):         "line 1, column 3894: a header of more than 1000 columns",
		strings.Repeat("x", 65536) + ",yy": "line 1, column 65539: a header of more than 65536 bytes",
		"a\x00\n":                          "line 1, column 3: a zero byte in a column's name",
	} {
		r := m.Run(t, "csv-to-json", &plugintest.Host{Params: csvParams(t, text)})
		r.WantError(t, "bad_csv", false)
		var at struct{ Line, Column int }
		if err := json.Unmarshal(r.Details, &at); err != nil || r.Message != want || !strings.HasPrefix(want, fmt.Sprintf("line %d, column %d:", at.Line, at.Column)) {
			t.Errorf("%.100q: %s %s (%v), want %s", text, r.Message, r.Details, err, want)
		}
	}
	for _, params := range []string{
		"", "[]", "{}", `{"csv":1}`, `{"csv":null}`, `{"csv":"a","delimeter":";"}`, `{"csv":"a","delimiter":""}`, `{"csv":"a","delimiter":";;"}`, `{"csv":"a","delimiter":"\""}`,
		`{"csv":"a","delimiter":"\n"}`, `{"csv":"a","delimiter":"é"}`, `{"csv":"a","delimiter":1}`, `{"csv":{"$blob":"x"}}`,
		`{"csv":{"$blob":1}}`,
	} {
		m.Run(t, "csv-to-json", &plugintest.Host{Params: []byte(params)}).WantError(t, "bad_params", false)
	}
	small := &plugintest.Host{Params: csvParams(t, "a\n"+strings.Repeat("1\n", 1000)), Limits: plugintest.Limits{Result: 1000}}
	m.Run(t, "csv-to-json", small).WantError(t, "too_big", false)
}

// TestCSVLargeFile: a file larger than the memory, whose fields and line ends are cut by the pieces that it is read in.
func TestCSVLargeFile(t *testing.T) {
	t.Parallel()
	m := buildCSV(t)
	var text bytes.Buffer
	text.WriteString("n,\"te\"\"xt\"\r\n")
	const rows = 100_000
	for i := range rows {
		fmt.Fprintf(&text, "%d,\"é \"\"%s\"\"\r\n北\"\r\n", i, strings.Repeat("x", i%17))
	}
	h := &plugintest.Host{Limits: plugintest.Limits{Memory: 512 << 10}}
	h.Params = fmt.Appendf(nil, `{"csv":{"$blob":%q}}`, h.AddBlob(text.Bytes()))
	r := m.Run(t, "csv-to-json", h)
	var list []map[string]string
	r.Decode(t, &list)
	if len(list) != rows {
		t.Fatalf("%d rows", len(list))
	}
	for i, row := range list {
		want := map[string]string{"n": fmt.Sprint(i), `te"xt`: "é \"" + strings.Repeat("x", i%17) + "\"\r\n北"}
		if !reflect.DeepEqual(row, want) {
			t.Fatalf("row %d is %q, want %q", i, row, want)
		}
	}
	if last := h.Beats[len(h.Beats)-1]; last.Done != int64(text.Len()) || last.Total != last.Done || h.BlobBytes != last.Done {
		t.Errorf("the last heartbeat is %v; %d bytes were read of %d", last, h.BlobBytes, text.Len())
	}
	h.OnBeat = plugintest.AtBeat(len(h.Beats)+3, plugintest.Cancel)
	m.Run(t, "csv-to-json", h).WantKind(t, plugintest.Cancelled)
}

// TestCSVLikeGo compares random texts with what encoding/csv makes of them.
func TestCSVLikeGo(t *testing.T) {
	t.Parallel()
	m := buildCSV(t)
	pieces := []string{"a", "b", "é", ",", ",", `"`, `"`, "\n", "\r\n", " ", "\n", `""`, `"x"`, ",\n", "c,d\n"}
	r := rand.New(rand.NewPCG(9, 10))
	read, wrong := 0, 0
	for range 6000 {
		text := []string{"", "p\n", "p,q\n", "p,q,\"r\n\"\r\n"}[r.IntN(4)]
		for range r.IntN(12) {
			text += pieces[r.IntN(len(pieces))]
		}
		want, ok := likeGo(text)
		got := m.Run(t, "csv-to-json", &plugintest.Host{Params: csvParams(t, text)})
		if ok != (got.Kind == plugintest.Succeeded) {
			t.Fatalf("%q: %v; encoding/csv reads it: %t", text, got, ok)
		}
		if !ok {
			wrong++
			continue
		}
		read++
		var list []map[string]string
		if err := json.Unmarshal(bytes.ReplaceAll(got.Result, []byte(`\r\n`), []byte(`\n`)), &list); err != nil { // which encoding/csv does, too
			t.Fatal(err)
		}
		if !reflect.DeepEqual(list, want) {
			t.Fatalf("%q: got %q, want %q", text, list, want)
		}
	}
	if read < 500 || wrong < 500 {
		t.Errorf("%d texts were read, %d wrong", read, wrong)
	}
}

func likeGo(text string) (rows []map[string]string, ok bool) {
	rows = []map[string]string{}
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(records) == 0 {
		return nil, false
	}
	names := map[string]bool{}
	for _, name := range records[0] {
		names[name] = true
	}
	for _, record := range records[1:] {
		row := map[string]string{}
		for i, name := range records[0] {
			row[name] = record[i]
		}
		rows = append(rows, row)
	}
	return rows, len(names) == len(records[0])
}
