package trust

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// TokenFile is a file that holds the token of a client, and nothing else.
type TokenFile struct {
	name string

	mu   sync.Mutex
	text string
	read os.FileInfo // of the file that has this text; nil: it may have changed without a trace
	pipe bool        // it can be read once only
}

// settled is how old a change must be for the next one to have another time: clocks of file systems are coarse.
const settled = 2 * time.Second

// OpenTokenFile reads the file, which only its owner may read (ReadFile). A pipe, such as /dev/fd/3, is read once.
func OpenTokenFile(name string) (*TokenFile, error) {
	f := &TokenFile{name: name}
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	f.pipe = !info.Mode().IsRegular()
	if f.text, err = readToken(name); err != nil {
		return nil, err
	}
	f.note(info)
	return f, nil
}

func readToken(name string) (string, error) {
	text, err := ReadFile(name)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(text))
	if err := CheckToken(token); err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return token, nil
}

// CheckToken says what is wrong with the text of a token, and nothing of the text.
func CheckToken(text string) error {
	switch {
	case strings.HasPrefix(text, clusterPrefix):
		return errors.New("it is a cluster secret, which must not travel: taskrt token root derives the root token from it")
	case strings.HasPrefix(text, workerPrefix):
		return errors.New("it is a worker secret, which must not travel: taskrt worker takes it")
	}
	_, err := ParseToken(text)
	return err
}

// note remembers how the file was before its text was read.
func (f *TokenFile) note(info os.FileInfo) {
	if f.read = nil; time.Since(info.ModTime()) > settled {
		f.read = info
	}
}

// Text returns the token that is in the file now. As long as the file cannot be used, because somebody is writing it, that is the one
// before. The error is nil: a client wants a function that may fail.
func (f *TokenFile) Text() (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pipe {
		return f.text, nil
	}
	info, err := os.Stat(f.name)
	if err != nil || f.read != nil && os.SameFile(info, f.read) && info.ModTime().Equal(f.read.ModTime()) && info.Size() == f.read.Size() {
		return f.text, nil
	}
	if text, err := readToken(f.name); err == nil {
		f.text = text
		f.note(info)
	}
	return f.text, nil
}
