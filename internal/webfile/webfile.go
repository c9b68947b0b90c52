// Package webfile serves files of this build to browsers: compressed once, known by their bytes, with types that do not depend on the machine.
package webfile

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"mime"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
)

// File is one file. Use New to create one.
type File struct {
	media, etag   string
	plain, packed []byte
}

// New compresses a file. Its name says of which type it is.
func New(name string, b []byte) (*File, error) {
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(b); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(b)
	return &File{media: media(name), etag: `"` + hex.EncodeToString(sum[:8]) + `"`, plain: b, packed: packed.Bytes()}, nil
}

// Bytes are the file's own bytes. Nobody may change them.
func (f *File) Bytes() []byte { return f.plain }

// Packed is how many bytes a browser loads.
func (f *File) Packed() int { return len(f.packed) }

// media is the media type of a file. It does not depend on what the machine knows of types.
func media(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".txt", ".md":
		return "text/plain; charset=utf-8"
	}
	return mime.TypeByExtension(path.Ext(name))
}

// Page sets what goes with a page: a policy of content, nobody's window and no referrer with it. It is asked for anew each time (ETag), so that a new
// build is met at once.
func Page(h http.Header, policy string) {
	h.Set("Cache-Control", "no-cache")
	h.Set("Content-Security-Policy", policy)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
}

// ServeHTTP writes the file to who asks by GET or HEAD, compressed where the browser takes that, or says that the browser has it.
func (f *File) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "use GET", http.StatusMethodNotAllowed)
		return
	}
	h.Set("X-Content-Type-Options", "nosniff")
	h.Add("Vary", "Accept-Encoding")
	h.Set("ETag", f.etag)
	if slices.Contains(strings.Split(strings.ReplaceAll(r.Header.Get("If-None-Match"), "W/", ""), ", "), f.etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := f.plain
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = f.packed
	}
	h.Set("Content-Type", f.media)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method == http.MethodHead {
		return
	}
	_, _ = w.Write(body)
}
