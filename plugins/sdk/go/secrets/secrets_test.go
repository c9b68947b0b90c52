package secrets_test

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/plugins/plugintest"
	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
	"github.com/taskrt/taskrt/plugins/sdk/go/sdktest"
	"github.com/taskrt/taskrt/plugins/sdk/go/secrets"
)

func init() {
	sdk.Require("secrets") // said twice
	sdk.Require("blob")
	sdk.Register(sdk.Behavior{Name: "secret", Run: func(c *sdk.Context) error {
		value, err := secrets.Get(string(c.Params()))
		if err != nil {
			return sdk.Fail(kind(err), err.Error())
		}
		c.SetResult(value)
		return nil
	}})
}

// kind is which of the SDK's errors it is.
func kind(err error) (is string) {
	for code, sentinel := range map[string]error{ // order-free: it is one of them
		"denied": sdk.ErrDenied, "not_found": sdk.ErrNotFound, "unavailable": sdk.ErrUnavailable, "invalid": sdk.ErrInvalid,
	} {
		if errors.Is(err, sentinel) {
			is += code
		}
	}
	return is
}

func TestManifestRequires(t *testing.T) {
	want := `{"schema":1,"requires":["blob","secrets"],"behaviors":[{"name":"secret"}]}`
	if got := string(sdktest.Manifest()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// sizes are around that of the first buffer, and the largest that a host gives.
var sizes = []int{0, 1, 1023, 1024, 1025, 65536}

func TestGet(t *testing.T) {
	for _, n := range sizes {
		value := bytes.Repeat([]byte{'x'}, n)
		h := &sdktest.Host{Params: []byte("key"), Secrets: map[string][]byte{"key": value, "other": []byte("y")}}
		if r := sdktest.Run(t, "secret", h); r.Outcome != abi.OutcomeOK || !bytes.Equal(r.Result, value) {
			t.Errorf("%d bytes: %.100v", n, r)
		}
	}
}

func TestErrors(t *testing.T) {
	busy := func(string) error { return sdk.ErrUnavailable }
	const noName = "a name is 1 to 128 of A-Z a-z 0-9 . _ -, a letter or digit first"
	for name, c := range map[string]struct {
		host sdktest.Host
		want error
		why  string
	}{
		"other":                  {sdktest.Host{Secrets: map[string][]byte{"key": {}}}, sdk.ErrDenied, "not granted to this behavior"},
		"key":                    {sdktest.Host{Secrets: map[string][]byte{"key": nil}}, sdk.ErrNotFound, "not there"},
		"later":                  {sdktest.Host{OnSecret: busy}, sdk.ErrUnavailable, sdk.ErrUnavailable.Error()},
		"../key":                 {sdktest.Host{}, sdk.ErrInvalid, noName},
		strings.Repeat("x", 129): {sdktest.Host{}, sdk.ErrInvalid, noName},
		"":                       {sdktest.Host{}, sdk.ErrInvalid, noName},
	} { // order-free: independent runs
		c.host.Params = []byte(name)
		r := sdktest.Run(t, "secret", &c.host)
		if r.Code != kind(c.want) || r.Message != "secret "+name+": "+c.why {
			t.Errorf("%s: %v, want %v: %s", name, r, c.want, c.why)
		}
	}
	if _, err := secrets.Get("key"); !errors.Is(err, sdk.ErrDenied) { // as in init
		t.Errorf("outside of an attempt: %v", err)
	}
}

// TestParallelAttempts: nobody gets another attempt's secret.
func TestParallelAttempts(t *testing.T) {
	var all sync.WaitGroup
	for i := range 20 {
		value := fmt.Sprint(i)
		all.Go(func() {
			h := &sdktest.Host{Params: []byte("key"), Secrets: map[string][]byte{"key": []byte(value)}}
			h.OnSecret = func(string) error { runtime.Gosched(); return nil }
			for range 20 {
				if r := sdktest.Run(t, "secret", h); string(r.Result) != value {
					t.Errorf("%v, want %s", r, value)
				}
			}
		})
	}
	all.Wait()
}

// TestGuest is the same in a sandbox.
func TestGuest(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a guest with the Go toolchain")
	}
	m := plugintest.Load(t, plugintest.BuildGo(t, "testdata/guest"))
	if !strings.Contains(string(m.Manifest()), `"requires":["secrets"]`) {
		t.Errorf("%s", m.Manifest())
	}
	for _, n := range sizes[1:] { // a result of 0 bytes is none
		value := bytes.Repeat([]byte{'x'}, n)
		h := &plugintest.Host{Params: []byte("key"), Secrets: map[string][]byte{"key": value}}
		m.Run(t, "secret", h).WantResult(t, string(value))
	}
	for name, why := range map[string]string{"other": "not granted to this behavior", "gone": "not there"} { // order-free: independent runs
		r := m.Run(t, "secret", &plugintest.Host{Params: []byte(name), Secrets: map[string][]byte{"key": {}, "gone": nil}})
		if r.WantError(t, "HANDLER_ERROR", true); r.Message != "secret "+name+": "+why {
			t.Error(r)
		}
	}
}
