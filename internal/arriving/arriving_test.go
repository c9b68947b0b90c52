package arriving

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

// TestAppend: bodies come whole around each length at which the memory grows, whatever pieces they come in; one that ends early is an error.
func TestAppend(t *testing.T) {
	const step = 8
	want := make([]byte, 100)
	for i := range want {
		want[i] = byte(i)
	}
	for n := range want {
		for name, r := range map[string]io.Reader{"whole": bytes.NewReader(want), "byte by byte": iotest.OneByteReader(bytes.NewReader(want))} {
			got, err := Append(r, []byte("before"), n, step)
			if err != nil || !bytes.Equal(got, append([]byte("before"), want[:n]...)) {
				t.Fatalf("%d bytes, %s: %q, %v", n, name, got, err)
			}
		}
		if _, err := Append(bytes.NewReader(want[:n]), nil, n+1, step); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("%d of %d bytes: %v", n, n+1, err)
		}
	}
}

// TestMemory: what was only announced takes no memory.
func TestMemory(t *testing.T) {
	most := 0
	r := reader(func(b []byte) (int, error) {
		most = max(most, len(b))
		return 0, io.EOF
	})
	if _, err := Append(r, nil, 1<<30, 1000); !errors.Is(err, io.ErrUnexpectedEOF) || most != 1000 {
		t.Errorf("room for %d bytes, %v", most, err)
	}
}

type reader func([]byte) (int, error)

func (r reader) Read(b []byte) (int, error) { return r(b) }
