package input

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// Open opens a file, or standard input for -, so that it can be sent again. A file that cannot seek, such as standard input, is read first, up to
// a byte more than the limit.
func Open(name string, stdin io.Reader, limit int64) (file io.ReadCloser, size int64, err error) {
	in := io.NopCloser(stdin)
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, 0, err
		}
		fi, err := f.Stat()
		switch {
		case err != nil:
			return nil, 0, errors.Join(err, f.Close())
		case fi.Mode().IsRegular():
			return f, fi.Size(), nil
		}
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err = errors.Join(err, in.Close()); err != nil {
		return nil, 0, err
	}
	return seekable{bytes.NewReader(data)}, int64(len(data)), nil
}

// Name is the name under which a file is sent.
func Name(name string) string {
	if name == "-" {
		return "standard input"
	}
	return filepath.Base(name)
}

// seekable is a file in memory.
type seekable struct{ *bytes.Reader }

// Close implements io.Closer.
func (seekable) Close() error { return nil }
