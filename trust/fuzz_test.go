package trust

import (
	"crypto/x509"
	"net/url"
	"strings"
	"testing"
)

// FuzzTexts: texts of secrets and tokens, from a file or a header: each is refused, or is the text of what was read.
func FuzzTexts(f *testing.F) {
	s := Draw()
	for _, text := range []string{s.Text(), s.RootToken().Text(), DrawToken().Text(), "", "trt_", "trt_" + strings.Repeat("A", 48)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if token, err := ParseToken(text); err == nil && token.Text() != text {
			t.Errorf("a token has two texts: %q and %q", text, token.Text())
		}
		if secret, err := ParseSecret(text); err == nil && secret.Text() != text {
			t.Errorf("a secret has two texts: %q and %q", text, secret.Text())
		}
		if worker, err := ParseWorkerSecret(text); err == nil && worker.Text() != text {
			t.Errorf("a worker secret has two texts: %q and %q", text, worker.Text())
		}
	})
}

// FuzzPeerOf: the URIs of a certificate that somebody shows: they name nobody, or a role that there is and an ID of bounded length.
func FuzzPeerOf(f *testing.F) {
	for _, text := range []string{"taskrt://node/n1", "taskrt://worker/w1/x", "taskrt://api/", "taskrt:///", "https://node/n1", "taskrt://node/" + strings.Repeat("x", 300)} {
		f.Add(text, "")
		f.Add(text, text)
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		var c x509.Certificate
		for _, text := range []string{first, second} {
			if u, err := url.Parse(text); err == nil && text != "" {
				c.URIs = append(c.URIs, u)
			}
		}
		if p, err := peerOf(&c); err == nil && (p.Role == 0 || p.ID == "" || len(p.ID) >= maxID) {
			t.Errorf("%q, %q: %+v", first, second, p)
		}
	})
}
