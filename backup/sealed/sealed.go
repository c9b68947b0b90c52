// Package sealed encrypts backups to public keys, and decrypts them, in the format of age (SPEC C8).
package sealed

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"filippo.io/age"
	"filippo.io/age/armor"
)

// ErrSealed says that a backup is encrypted, and that no identity was given.
var ErrSealed = errors.New("the backup is encrypted with age: --identity FILE names the file with the secret key")

// intro begins every file that age has encrypted.
const intro = "age-encryption.org/"

// Recipients reads public keys: age1…. The error names the one that is none.
func Recipients(texts []string) (all []age.Recipient, err error) {
	for _, text := range texts {
		these, err := age.ParseRecipients(strings.NewReader(text))
		if err != nil {
			return nil, fmt.Errorf("%.80q is no public key of age (age1…): %w", text, err)
		}
		all = append(all, these...)
	}
	return all, nil
}

// Seal encrypts what is written to all recipients. Each of them alone can decrypt it. Close must follow: without it, what was written is no
// whole file.
func Seal(w io.Writer, to []age.Recipient) (io.WriteCloser, error) {
	s, err := age.Encrypt(w, to...)
	if err != nil {
		return nil, fmt.Errorf("encrypt: %w", err)
	}
	return s, nil
}

// Identities reads files with secret keys, as age-keygen writes them.
func Identities(files []string) (all []age.Identity, err error) {
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		these, err := age.ParseIdentities(f)
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, fmt.Errorf("%s has no secret key of age: %w", name, err)
		}
		all = append(all, these...)
	}
	return all, nil
}

// Open decrypts a backup if it is encrypted. A plain one it returns as it is.
func Open(r io.Reader, with []age.Identity) (plain io.Reader, sealed bool, err error) {
	in := bufio.NewReader(r)
	head, err := in.Peek(len(armor.Header))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, fmt.Errorf("read the backup: %w", err)
	}
	var from io.Reader = in
	switch {
	case string(head) == armor.Header:
		from = armor.NewReader(in)
	case !strings.HasPrefix(string(head), intro):
		return in, false, nil
	}
	if len(with) == 0 {
		return nil, true, ErrSealed
	}
	if plain, err = age.Decrypt(from, with...); err != nil {
		return nil, true, fmt.Errorf("decrypt the backup: %w", err)
	}
	return plain, true, nil
}
