package traced

import (
	"net/http"
	"testing"
)

// BenchmarkOff is what a submit pays for traces that are off.
func BenchmarkOff(b *testing.B) {
	r, err := http.NewRequest(http.MethodPost, "/v1/tasks", nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if same, end := Begin(r, "/v1/tasks", nil); same != r || end != nil {
			b.Fatal("it has a trace")
		}
	}
}
