package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"maps"
	"mime"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// assetPrefix begins the paths of files: what follows is the digest of all files together, a slash, and the file's name. So the modules of a
// page, which name each other by relative paths, are always of one build, and may be kept for ever.
const assetPrefix = "/console/"

// pageFile is the page. The word digestWord in it stands for the digest, and accessWord for whether the cluster is open or asks for tokens.
const (
	pageFile   = "index.html"
	digestWord = "DIGEST"
	accessWord = "ACCESS"
)

//go:embed assets
var files embed.FS

// asset is one file, compressed once.
type asset struct {
	media       string
	etag        string
	plain, gzip []byte
}

// assets are all files by their names.
type assets struct {
	digest string
	byName map[string]*asset
	pages  map[string]*asset // by whether the cluster is open
}

// Who may come to a cluster.
const (
	openAccess  = "open"
	tokenAccess = "tokens"
)

// embedded returns the files of this build. They are compressed when they are first asked for.
var embedded = sync.OnceValue(func() *assets {
	all, err := read(files)
	if err != nil {
		panic(err) // what is embedded can be read
	}
	return all
})

// read reads a tree of files.
func read(tree fs.FS) (*assets, error) {
	contents := map[string][]byte{}
	err := fs.WalkDir(tree, "assets", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(tree, name)
		contents[strings.TrimPrefix(name, "assets/")] = b
		return err
	})
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(contents)) {
		one := sha256.Sum256(contents[name])
		sum.Write([]byte(name + "\x00"))
		sum.Write(one[:])
	}
	all := &assets{digest: hex.EncodeToString(sum.Sum(nil)[:8]), byName: map[string]*asset{}, pages: map[string]*asset{}}
	for name, b := range contents {
		if all.byName[name], err = compress(name, b); err != nil {
			return nil, err
		}
	}
	page := bytes.ReplaceAll(contents[pageFile], []byte(digestWord), []byte(all.digest))
	for _, access := range []string{openAccess, tokenAccess} {
		if all.pages[access], err = compress(pageFile, bytes.ReplaceAll(page, []byte(accessWord), []byte(access))); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// compress makes an asset of a file.
func compress(name string, b []byte) (*asset, error) {
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
	return &asset{media: media(name), etag: `"` + hex.EncodeToString(sum[:8]) + `"`, plain: b, gzip: packed.Bytes()}, nil
}

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

// page serves the page. It is asked for anew each time, so that a new build is met at once.
func (a *assets) page(w http.ResponseWriter, r *http.Request, access string) {
	h := w.Header()
	h.Set("Cache-Control", "no-cache")
	h.Set("Content-Security-Policy", policy)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Add("Vary", "Accept")
	a.pages[access].serve(w, r)
}

// file serves a file. Of another build, as nodes have it during an upgrade, the file of this one is better than none, but is not kept.
func (a *assets) file(w http.ResponseWriter, r *http.Request) {
	digest, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, assetPrefix), "/")
	one := a.byName[name]
	if one == nil || name == pageFile {
		http.Error(w, "there is no such file", http.StatusNotFound)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "use GET", http.StatusMethodNotAllowed)
		return
	}
	kept := "public, max-age=31536000, immutable"
	if digest != a.digest {
		kept = "no-store"
	}
	w.Header().Set("Cache-Control", kept)
	w.Header().Set("Content-Security-Policy", policy) // of a picture that is opened as a page
	one.serve(w, r)
}

// serve writes a file, compressed where the browser takes that, or says that it has it.
func (f *asset) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
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
		body = f.gzip
	}
	h.Set("Content-Type", f.media)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method == http.MethodHead {
		return
	}
	_, _ = w.Write(body)
}
