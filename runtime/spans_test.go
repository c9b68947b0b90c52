package runtime

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime/guestspans"
)

// noted keeps what a guest told of its spans.
type noted struct{ told []string }

func (n *noted) Begin(s guestspans.Span) {
	n.told = append(n.told, fmt.Sprint("begin ", s.Name, s.Attributes))
}
func (n *noted) End(why string) { n.told = append(n.told, "end "+why) }

// TestGuestSpans: a guest's spans reach whoever wants them, and the guest hears the same if nobody does (SPEC U2).
func TestGuestSpans(t *testing.T) {
	m := load(t, newEngine(t, Config{}), guestFile(t, "spans"))
	var n noted
	for _, to := range []guestspans.Spans{&n, nil} {
		if out := m.Run(t.Context(), Attempt{Spans: to}, &fakeHost{}); string(out.Result) != "4000002" {
			t.Errorf("spans are wanted: %t: %+v", to != nil, out)
		}
	}
	want := []string{"begin work[{rows 3}]", "begin save[]", "end ", "begin check[]", "end row 7 is bad"}
	if !slices.Equal(n.told, want) {
		t.Errorf("got %q", n.told)
	}
}

// TestGuestSpansHideSecrets: a secret that the attempt has read is in no span (SPEC B6).
func TestGuestSpansHideSecrets(t *testing.T) {
	t.Parallel()
	var n noted
	g := &guest{attempt: Attempt{Spans: &n}}
	g.log.keep(secret{"key", []byte("correct horse")})
	g.call(abi.OpSpanBegin, []byte("a correct horse\nk=a correct horse"))
	g.call(abi.OpSpanEnd, []byte("no correct horse"))
	if told := strings.Join(n.told, " "); strings.Contains(told, "correct") || strings.Count(told, "[secret key]") != 3 {
		t.Error(told)
	}
}
