package sealed

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"
)

// key is a key pair in a file.
func key(t *testing.T) (public, file string) {
	t.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("# a comment\n"+id.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return id.Recipient().String(), file
}

func seal(t *testing.T, text string, to ...string) []byte {
	t.Helper()
	recipients, err := Recipients(to)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := Seal(&out, recipients)
	if err == nil {
		_, err = io.WriteString(w, text)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func open(t *testing.T, sealed []byte, files ...string) (string, error) {
	t.Helper()
	with, err := Identities(files)
	if err != nil {
		t.Fatal(err)
	}
	r, is, err := Open(bytes.NewReader(sealed), with)
	if is != bytes.HasPrefix(sealed, []byte(intro)) {
		t.Errorf("encrypted: %v", is)
	}
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(r)
	return string(b), err
}

// TestSealed: each recipient alone reads it, nobody else does, and what was changed or cut shows (SPEC C8).
func TestSealed(t *testing.T) {
	t.Parallel()
	public, mine := key(t)
	other, hers := key(t)
	_, stranger := key(t)
	text := strings.Repeat("params and results ", 10_000)
	b := seal(t, text, public, other)
	if bytes.Contains(b, []byte("params")) {
		t.Error("it can be read")
	}
	for _, file := range []string{mine, hers} {
		if got, err := open(t, b, stranger, file); got != text || err != nil {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	}
	if _, err := open(t, b); !errors.Is(err, ErrSealed) {
		t.Errorf("without a key: %v", err)
	}
	if _, err := open(t, b, stranger); err == nil {
		t.Error("a stranger reads it")
	}
	for _, n := range []int{len(b) - 1, len(b) / 2, 300} {
		if _, err := open(t, b[:n], mine); err == nil {
			t.Errorf("cut after %d bytes: taken", n)
		}
		changed := bytes.Clone(b)
		changed[n] ^= 1
		if _, err := open(t, changed, mine); err == nil {
			t.Errorf("byte %d changed: taken", n)
		}
	}
	for _, plain := range []string{"", "short", "a plain backup, which is longer than what is looked at"} {
		if got, err := open(t, []byte(plain)); got != plain || err != nil {
			t.Errorf("plain: %q, %v", got, err)
		}
	}
}

func TestBadKeys(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "age1", "AGE-SECRET-KEY-1", "n1"} {
		if _, err := Recipients([]string{text}); err == nil || !strings.Contains(err.Error(), "no public key of age") {
			t.Errorf("%q: %v", text, err)
		}
	}
	public, _ := key(t)
	file := filepath.Join(t.TempDir(), "public")
	if err := os.WriteFile(file, []byte(public), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Identities([]string{file}); err == nil || !strings.Contains(err.Error(), "no secret key") {
		t.Errorf("a public key for a secret one: %v", err)
	}
	if _, err := Identities([]string{file + ".gone"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
