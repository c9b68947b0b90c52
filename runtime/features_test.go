package runtime

import (
	"testing"
	"time"
)

// TestBeyond: tail calls take no stack, cannot get around fuel, timeouts or kills, and may call the host; constants may be computed.
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
