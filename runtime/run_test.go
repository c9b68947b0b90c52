package runtime

import (
	"testing"
	"time"
)

func TestHostileGuests(t *testing.T) {
	e := newEngine(t, Config{})
	for _, tt := range []struct {
		name  string
		a     Attempt
		code  string
		class Class
	}{
		{"trap", Attempt{}, CodeTrap, ClassTrap},
		{"spin", Attempt{RunTimeout: 50 * time.Millisecond}, CodeTimeout, ClassTimeout},
		{"grow", Attempt{MemoryBytes: 4 << 20}, CodeOutOfMemory, ClassExhausted},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wasm := guestFile(t, tt.name)
			in, err := e.Inspect(t.Context(), wasm, nil, "")
			if err != nil {
				t.Fatal(err)
			}
			if got := in.Manifest.Behaviors[0].Name; got != tt.name {
				t.Errorf("behavior is %q", got)
			}
			out := load(t, e, wasm).Run(t.Context(), tt.a, &fakeHost{})
			if out.Kind != Failed || out.Code != tt.code || out.Class != tt.class {
				t.Errorf("outcome %+v, want %s", out, tt.code)
			}
			if out.Started == 0 || out.Ended < out.Started {
				t.Errorf("ran from %d to %d", out.Started, out.Ended)
			}
			t.Logf("%s: %s %s", out.Code, out.Message, out.Details)
		})
	}
}
