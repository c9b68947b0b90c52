package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/taskrt/taskrt/internal/webfile"
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

// assets are all files by their names.
type assets struct {
	digest string
	byName map[string]*webfile.File
	pages  map[string]*webfile.File // by whether the cluster is open
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
	all := &assets{digest: hex.EncodeToString(sum.Sum(nil)[:8]), byName: map[string]*webfile.File{}, pages: map[string]*webfile.File{}}
	for name, b := range contents {
		if all.byName[name], err = webfile.New(name, b); err != nil {
			return nil, err
		}
	}
	page := bytes.ReplaceAll(contents[pageFile], []byte(digestWord), []byte(all.digest))
	for _, access := range []string{openAccess, tokenAccess} {
		if all.pages[access], err = webfile.New(pageFile, bytes.ReplaceAll(page, []byte(accessWord), []byte(access))); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// page serves the page.
func (a *assets) page(w http.ResponseWriter, r *http.Request, access string) {
	webfile.Page(w.Header(), policy)
	w.Header().Add("Vary", "Accept")
	a.pages[access].ServeHTTP(w, r)
}

// file serves a file. Of another build, as nodes have it during an upgrade, the file of this one is better than none, but is not kept.
func (a *assets) file(w http.ResponseWriter, r *http.Request) {
	digest, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, assetPrefix), "/")
	one := a.byName[name]
	if one == nil || name == pageFile {
		http.Error(w, "there is no such file", http.StatusNotFound)
		return
	}
	kept := "public, max-age=31536000, immutable"
	if digest != a.digest {
		kept = "no-store"
	}
	w.Header().Set("Cache-Control", kept)
	w.Header().Set("Content-Security-Policy", policy) // of a picture that is opened as a page
	one.ServeHTTP(w, r)
}
