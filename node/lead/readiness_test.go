package lead

import (
	"fmt"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/worker/stream"
)

// TestReadinessIsBounded: a worker that names more modules and behaviors than there can be, or very long names, takes no memory for them. What it has said
// before holds, and to say it again costs no copy.
func TestReadinessIsBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxHelloText+1)
	names := func(n int) (digests []string, paces []stream.Pace) {
		for i := range n {
			name := fmt.Sprint("m", i)
			digests = append(digests, name)
			paces = append(paces, stream.Pace{Behavior: stream.Behavior{Module: name}, Short: true})
		}
		return digests, paces
	}
	digests, _ := names(2 * maxReady)
	first, news := withReady(map[string]bool{}, []string{digests[0], long})
	if !news || len(first) != 1 {
		t.Errorf("%d modules, news %v", len(first), news)
	}
	ready, news := withReady(first, digests)
	if !news || len(ready) != maxReady || !ready[digests[maxReady-1]] || len(first) != 1 {
		t.Errorf("%d modules, news %v; %d in the former map", len(ready), news, len(first))
	}
	if _, news = withReady(ready, digests); news {
		t.Error("the same modules once more are news")
	}

	_, paces := names(2 * maxShort)
	short, news := withPace(map[stream.Behavior]bool{}, append(paces, stream.Pace{Behavior: stream.Behavior{Module: long}, Short: true}))
	if !news || len(short) != maxShort || !short[paces[maxShort-1].Behavior] {
		t.Errorf("%d behaviors, news %v", len(short), news)
	}
	if _, news = withPace(short, paces); news {
		t.Error("the same behaviors once more are news")
	}
	slow := paces[0]
	slow.Short = false
	fewer, news := withPace(short, []stream.Pace{slow})
	if !news || len(fewer) != maxShort-1 || fewer[slow.Behavior] || len(short) != maxShort {
		t.Errorf("after one is slow: %d behaviors, news %v; %d in the former map", len(fewer), news, len(short))
	}
	if _, news = withPace(fewer, []stream.Pace{slow}); news {
		t.Error("that it is slow is news twice")
	}
	if again, news := withPace(fewer, paces[:1]); !news || len(again) != maxShort {
		t.Errorf("after it is short again: %d behaviors, news %v", len(again), news)
	}
}
