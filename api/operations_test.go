package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/api"
)

func names(n int, format string) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(format, i)
	}
	return all
}

func TestStartOperationCheck(t *testing.T) {
	good := func() api.StartOperationRequest {
		return api.StartOperationRequest{Behavior: "build-index", Partitions: api.Partitions{Count: 4}}
	}
	for name, c := range map[string]struct {
		change func(*api.StartOperationRequest)
		field  string // "": accepted
		code   string
		limit  int64
	}{
		"good":           {change: func(*api.StartOperationRequest) {}},
		"most":           {change: func(r *api.StartOperationRequest) { r.Partitions.Count = 100_000 }},
		"longest ID":     {change: func(r *api.StartOperationRequest) { r.ID = strings.Repeat("x", 100) }},
		"longest target": {change: func(r *api.StartOperationRequest) { r.Target = strings.Repeat("x", 256) }},
		"names":          {change: func(r *api.StartOperationRequest) { r.Partitions = api.Partitions{Names: []string{"a b", "ü", "0"}} }},
		"names to limit": {change: func(r *api.StartOperationRequest) { r.Partitions = api.Partitions{Names: names(2048, "%0128d")} }},
		"no behavior":    {func(r *api.StartOperationRequest) { r.Behavior = "" }, "behavior", api.CodeInvalidField, 0},
		"no partitions":  {func(r *api.StartOperationRequest) { r.Partitions.Count = 0 }, "partitions", api.CodeInvalidField, 100_000},
		"empty list":     {func(r *api.StartOperationRequest) { r.Partitions.Names = []string{} }, "partitions", api.CodeInvalidField, 100_000},
		"too many":       {func(r *api.StartOperationRequest) { r.Partitions.Count = 100_001 }, "partitions", api.CodeInvalidField, 100_000},
		"less than none": {func(r *api.StartOperationRequest) { r.Partitions.Count = -1 }, "partitions", api.CodeInvalidField, 100_000},
		"too many names": {func(r *api.StartOperationRequest) { r.Partitions = api.Partitions{Names: names(100_001, "%d")} }, "partitions", api.CodeInvalidField, 100_000},
		"names too long": {func(r *api.StartOperationRequest) { r.Partitions = api.Partitions{Names: names(2049, "%0128d")} }, "partitions", api.CodeTooLarge, 256 << 10},
		"name too long": {func(r *api.StartOperationRequest) {
			r.Partitions = api.Partitions{Names: []string{"a", strings.Repeat("x", 129)}}
		}, "partitions[1]", api.CodeInvalidField, 128},
		"name of nothing":  {func(r *api.StartOperationRequest) { r.Partitions = api.Partitions{Names: []string{""}} }, "partitions[0]", api.CodeInvalidField, 128},
		"name twice":       {func(r *api.StartOperationRequest) { r.Partitions = api.Partitions{Names: []string{"a", "b", "a"}} }, "partitions[2]", api.CodeInvalidField, 0},
		"name no UTF-8":    {func(r *api.StartOperationRequest) { r.Partitions = api.Partitions{Names: []string{"\xff"}} }, "partitions[0]", api.CodeInvalidField, 128},
		"ID with a colon":  {func(r *api.StartOperationRequest) { r.ID = "a:b" }, "id", api.CodeInvalidField, 100},
		"ID too long":      {func(r *api.StartOperationRequest) { r.ID = strings.Repeat("x", 101) }, "id", api.CodeInvalidField, 100},
		"target too long":  {func(r *api.StartOperationRequest) { r.Target = strings.Repeat("x", 257) }, "target", api.CodeInvalidField, 256},
		"object too long":  {func(r *api.StartOperationRequest) { r.Object = strings.Repeat("x", 257) }, "object", api.CodeInvalidField, 256},
		"target of lines":  {func(r *api.StartOperationRequest) { r.Target = "a\nb" }, "target", api.CodeInvalidField, 256},
		"arg that is none": {func(r *api.StartOperationRequest) { r.Arg = json.RawMessage(`{`) }, "arg", api.CodeInvalidField, 0},
		"priority":         {func(r *api.StartOperationRequest) { r.Priority = new(10) }, "priority", api.CodeInvalidField, 9},
		"label":            {func(r *api.StartOperationRequest) { r.Labels = map[string]string{"a=b": ""} }, "labels", api.CodeInvalidField, 128},
		"namespace":        {func(r *api.StartOperationRequest) { r.Namespace = "/" }, "namespace", api.CodeInvalidField, 64},
	} {
		r := good()
		c.change(&r)
		err := r.Check()
		if c.field == "" {
			if err != nil || r.Namespace != "default" || r.Partitions.Names != nil && r.Partitions.Count != int64(len(r.Partitions.Names)) {
				t.Errorf("%s: %v, %d partitions in %q", name, err, r.Partitions.Count, r.Namespace)
			}
			continue
		}
		e, ok := errors.AsType[*api.Error](err)
		if !ok || e.Field != c.field || e.Code != c.code || e.Limit != c.limit {
			t.Errorf("%s: %+v, want %s of %s with limit %d", name, err, c.code, c.field, c.limit)
		}
	}
}

func TestPartitionsAsJSON(t *testing.T) {
	for text, want := range map[string]api.Partitions{
		`7`: {Count: 7}, `["a","b"]`: {Count: 2, Names: []string{"a", "b"}}, `[]`: {Names: []string{}}, `["null"]`: {Count: 1, Names: []string{"null"}},
	} {
		var p api.Partitions
		if err := json.Unmarshal([]byte(text), &p); err != nil || p.Count != want.Count || !slices.Equal(p.Names, want.Names) || (p.Names == nil) != (want.Names == nil) {
			t.Errorf("%s: %+v, %v", text, p, err)
		}
		if back, err := json.Marshal(p); err != nil || string(back) != text {
			t.Errorf("%s becomes %s, %v", text, back, err)
		}
	}
	for _, text := range []string{`1000.0`, `1e3`} {
		var p api.Partitions
		if err := json.Unmarshal([]byte(text), &p); err != nil || p.Count != 1000 || p.Names != nil {
			t.Errorf("%s: %+v, %v", text, p, err)
		}
	}
	for _, text := range []string{`null`, `"7"`, `1.5`, `1e-3`, `{}`, `[1]`, `["a",null]`, `[["a"]]`, `true`, `99999999999999999999`} {
		var p api.Partitions
		if err := json.Unmarshal([]byte(text), &p); err == nil {
			t.Errorf("%s: %+v", text, p)
		}
	}
}

func TestOperationUntil(t *testing.T) {
	for text, want := range map[string]api.Until{
		"": {Kind: "final"}, "final": {Kind: "final"}, "completing": {Kind: "completing"}, "rev:0": {Kind: "rev"}, "rev:7": {Kind: "rev", N: 7},
	} {
		if got, err := api.ParseOperationUntil(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"running", "rev", "rev:", "rev:-1", "rev:x", "final:1", ":", "completing:"} {
		if got, err := api.ParseOperationUntil(text); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}
