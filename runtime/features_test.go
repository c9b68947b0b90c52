package runtime

import (
	"testing"
	"time"
)

// TestBeyond: tail calls take no stack, cannot get around fuel, timeouts or kills, and may call the host; constants
// may be computed.
func TestBeyond(t *testing.T) {
	e := newEngine(t, Config{})
	if _, err := e.Inspect(t.Context(), guestFile(t, "beyond"), nil, ""); err != nil {
		t.Fatal(err)
	}
	m := load(t, e, guestFile(t, "beyond"))
	for _, tt := range []struct {
		behavior     int32
		a            Attempt
		code, result string
	}{
		{0, Attempt{}, "", "\x01\x00\x00\x00"},
		{1, Attempt{}, "", "by arithmetic"},
		{2, Attempt{Fuel: 10_000_000}, CodeOutOfFuel, ""},
		{2, Attempt{RunTimeout: 20 * time.Millisecond}, CodeTimeout, ""},
		{3, Attempt{Fuel: 10_000_000}, CodeOutOfFuel, ""},
		{3, Attempt{RunTimeout: 20 * time.Millisecond}, CodeTimeout, ""},
	} {
		tt.a.Behavior = tt.behavior
		out := m.Run(t.Context(), tt.a, &fakeHost{})
		if out.Code != tt.code || string(out.Result) != tt.result || tt.a.Fuel > 0 && out.Fuel != tt.a.Fuel {
			t.Errorf("behavior %d: %+v", tt.behavior, out)
		}
	}
}

// TestThrows: C++ as clang compiles it: destructors, handlers that see earlier changes and throw on, and the end of
// guests that throw an exception out of themselves, or throw for ever.
func TestThrows(t *testing.T) {
	e := newEngine(t, Config{})
	if _, err := e.Inspect(t.Context(), guestFile(t, "throws"), nil, ""); err != nil {
		t.Fatal(err)
	}
	m := load(t, e, guestFile(t, "throws"))
	for range 3 { // in new instances and used ones
		if out := m.Run(t.Context(), Attempt{}, &fakeHost{}); string(out.Result) != "xabcdDCBA7kX." {
			t.Errorf("got %q: %+v", out.Result, out)
		}
	}
	if stats := m.Instances(); stats.Reused != 2 {
		t.Errorf("instances: %+v", stats)
	}
	if out := m.Run(t.Context(), Attempt{Behavior: 1}, &fakeHost{}); out.Code != CodeTrap || out.Message != "uncaught exception" {
		t.Errorf("nobody catches: %+v", out)
	}
	if out := m.Run(t.Context(), Attempt{Behavior: 2, Fuel: 10_000_000}, &fakeHost{}); out.Code != CodeOutOfFuel || out.Fuel != 10_000_000 {
		t.Errorf("for ever: %+v", out)
	}
}
