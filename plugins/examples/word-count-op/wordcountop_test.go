package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"unicode"

	"github.com/taskrt/taskrt/abi"
	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
	"github.com/taskrt/taskrt/plugins/sdk/go/sdktest"
)

// op runs a whole operation: every partition, then the completion. Results of more than 100 bytes become blobs.
func op(t *testing.T, arg string, parts int, blobs map[string][]byte) sdktest.Result {
	t.Helper()
	all := maps.Clone(blobs)
	if all == nil {
		all = map[string][]byte{}
	}
	completion := &sdktest.Host{Blobs: all, Params: fmt.Appendf(nil,
		`{"operation":"op-1","success":true,"counts":{"success":%d,"failure":0},"target":"","object":"","arg":%s}`, parts, arg)}
	for i := range parts {
		h := &sdktest.Host{Blobs: all, Params: fmt.Appendf(nil, `{"operation":"op-1","partition":"%d","target":"","object":"","arg":%s}`, i, arg)}
		r := sdktest.Run(t, "word-count-op", h)
		if r.Outcome != abi.OutcomeOK {
			t.Fatalf("partition %d: %v", i, r)
		}
		p := sdktest.Partition{Partition: fmt.Sprint(i), Status: "SUCCESS", Result: r.Result}
		if len(r.Result) > 100 {
			p.Result, p.Blob = nil, sdktest.BlobName(r.Result)
			all[p.Blob] = r.Result
		}
		completion.Partitions = append(completion.Partitions, p)
	}
	return sdktest.Run(t, "word-count-op-reduce", completion)
}

type counted struct {
	Words map[string]int64
	Total int64
}

// plain counts the plain way.
func plain(texts ...string) counted {
	c := counted{Words: map[string]int64{}}
	for _, text := range texts {
		for _, w := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			c.Words[w]++
			c.Total++
		}
	}
	return c
}

func checkCounts(t *testing.T, r sdktest.Result, want counted) {
	t.Helper()
	var got counted
	if err := json.Unmarshal(r.Result, &got); err != nil || r.Outcome != abi.OutcomeOK {
		t.Fatalf("%.300v: %v", r.String(), err)
	}
	if !maps.Equal(got.Words, want.Words) || got.Total != want.Total {
		t.Errorf("%d words, total %d; want %d, %d, or counts differ", len(got.Words), got.Total, len(want.Words), want.Total)
	}
}

// TestPartsOfTexts: however many parts, every word counts once, also those that lie across the ends of parts; the ends of texts
// end words.
func TestPartsOfTexts(t *testing.T) {
	texts := []string{"a b a", "", "été, 北京—北京", strings.Repeat("long", 20), "b", "b a\n"}
	big := strings.Repeat("one two—three 北京 ", 20_000) // over several pieces
	name := sdktest.BlobName([]byte(big))
	inline, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	for _, parts := range []int{1, 2, 3, 7, 50, 200} {
		arg := fmt.Sprintf(`{"texts":%s,"parts":%d}`, inline, parts)
		checkCounts(t, op(t, arg, parts, nil), plain(texts...))
	}
	for _, parts := range []int{1, 5, 16} {
		arg := fmt.Sprintf(`{"texts":["x y",{"$blob":%q},"x"],"parts":%d}`, name, parts)
		checkCounts(t, op(t, arg, parts, map[string][]byte{name: []byte(big)}), plain("x y", big, "x"))
	}
	checkCounts(t, op(t, `{"texts":[],"parts":3}`, 3, nil), plain())
}

func TestTop(t *testing.T) {
	r := op(t, `{"texts":["c c c b b a a x"],"parts":2,"top":2}`, 2, nil)
	if string(r.Result) != `{"words":{"a":2,"c":3},"total":8}` {
		t.Error(r)
	}
}

func TestSignals(t *testing.T) {
	text := strings.Repeat("word ", pieceSize)
	name := sdktest.BlobName([]byte(text))
	for signal, want := range map[sdk.Signals]abi.Outcome{sdk.SignalCancel: abi.OutcomeCancelled, sdk.SignalDraining: abi.OutcomeYield} {
		h := &sdktest.Host{
			Blobs:  map[string][]byte{name: []byte(text)},
			Params: fmt.Appendf(nil, `{"operation":"op-1","partition":"0","arg":{"texts":[{"$blob":%q}],"parts":1}}`, name),
			OnBeat: func(n int) sdk.Signals {
				if n == 3 {
					return signal
				}
				return 0
			},
		}
		r := sdktest.Run(t, "word-count-op", h)
		if total := int64(len(text)); r.Outcome != want || len(h.Beats) != 3 || h.Beats[2] != (sdktest.Beat{Done: 3 * pieceSize, Total: total}) {
			t.Errorf("signal %d: %v, beats %v", signal, r, h.Beats)
		}
	}
}

func TestBadParams(t *testing.T) {
	for params, code := range map[string]string{
		`{"texts":["a"],"parts":2}`:                                                   "bad_params", // no operation
		`{"operation":"o","partition":"0"}`:                                           "bad_params",
		`{"operation":"o","partition":"0","arg":{"texts":"a","parts":1}}`:             "bad_params",
		`{"operation":"o","partition":"0","arg":{"texts":["a"],"parts":0}}`:           "bad_params",
		`{"operation":"o","partition":"0","arg":{"texts":[{"$blob":"x"}],"parts":1}}`: "bad_params",
		`{"operation":"o","partition":"2","arg":{"texts":["a"],"parts":2}}`:           "bad_partitions",
		`{"operation":"o","partition":"-1","arg":{"texts":["a"],"parts":2}}`:          "bad_partitions",
		`{"operation":"o","partition":"north","arg":{"texts":["a"],"parts":2}}`:       "bad_partitions",
	} {
		if r := sdktest.Run(t, "word-count-op", &sdktest.Host{Params: []byte(params)}); r.Outcome != abi.OutcomePermanent || r.Code != code {
			t.Errorf("%s: %v", params, r)
		}
	}
}

func TestReduceFails(t *testing.T) {
	const reduce = `{"operation":"o","success":%v,"counts":{"success":%d,"failure":0},"arg":{"texts":["a"],"parts":2}}`
	h := &sdktest.Host{Params: fmt.Appendf(nil, reduce, true, 3)}
	if r := sdktest.Run(t, "word-count-op-reduce", h); r.Outcome != abi.OutcomePermanent || r.Code != "bad_partitions" {
		t.Error(r)
	}
	h = &sdktest.Host{Params: fmt.Appendf(nil, reduce, false, 1)}
	if r := sdktest.Run(t, "word-count-op-reduce", h); r.Outcome != abi.OutcomeOK || r.Result != nil {
		t.Error(r)
	}
	h = &sdktest.Host{Params: fmt.Appendf(nil, reduce, true, 2), Partitions: []sdktest.Partition{{Partition: "0", Blob: sdktest.BlobName(nil)}}}
	if r := sdktest.Run(t, "word-count-op-reduce", h); r.Outcome != abi.OutcomeRetryable || r.Code != "unreadable" {
		t.Error(r)
	}
	h.Partitions = nil // the host has no answer
	if r := sdktest.Run(t, "word-count-op-reduce", h); r.Outcome != abi.OutcomeRetryable || r.Code != "unreadable" {
		t.Error(r)
	}
}
