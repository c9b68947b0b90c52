package trust

import (
	"fmt"
	"strings"
	"testing"
)

// TestToken: the text of a token is read again, and no other text is one (SPEC A4).
func TestToken(t *testing.T) {
	token := DrawToken()
	text := token.Text()
	if again, err := ParseToken(text); err != nil || again != token {
		t.Fatalf("%v, %v", again, err)
	}
	if DrawToken() == token {
		t.Error("the same token twice")
	}
	if said := fmt.Sprint(token, &token); strings.Contains(said, text[len(tokenPrefix):len(tokenPrefix)+8]) {
		t.Errorf("it shows itself: %s", said)
	}
	secret := Draw()
	for _, bad := range []string{"", "trt_", text[1:], text[:len(text)-1], text + "A", strings.ToLower(text), secret.Text(), encode(tokenPrefix, token[1:])} {
		if _, err := ParseToken(bad); err == nil {
			t.Errorf("%q is a token", bad)
		} else if len(bad) > 8 && strings.Contains(err.Error(), bad[4:]) {
			t.Errorf("the error shows the text: %v", err)
		}
	}
}

// TestTokensOfSecrets: each secret has its root token, which tells nothing of the secret's other keys, and the holder of a worker secret
// has a token of his own.
func TestTokensOfSecrets(t *testing.T) {
	a, b := Draw(), Draw()
	worker := a.Worker([]Secret{a, b})
	read, err := ParseWorkerSecret(worker.Text())
	if err != nil {
		t.Fatal(err)
	}
	if read.Token() != worker.Token() {
		t.Error("the file of a worker gives another token")
	}
	seen := map[Token]bool{Token(a): true, Token(worker.seed): true}
	for _, token := range []Token{a.RootToken(), b.RootToken(), worker.Token(), b.Worker([]Secret{b}).Token()} {
		if seen[token] {
			t.Error("two keys are equal")
		}
		seen[token] = true
	}
}
