package lateness

import (
	"testing"
	"time"
)

// TestSchedstat: what is not three numbers tells nothing.
func TestSchedstat(t *testing.T) {
	if d, ok := parseSchedstat([]byte("133146 1636115 3\n")); !ok || d != 1636115*time.Nanosecond {
		t.Errorf("%v %v", d, ok)
	}
	for _, bad := range []string{"", "1 2", "1 x 3", "1 2 3 4", "1 99999999999999999999 3"} {
		if _, ok := parseSchedstat([]byte(bad)); ok {
			t.Errorf("%q was read", bad)
		}
	}
}
