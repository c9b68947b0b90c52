package site

import (
	"net/http"
	"strings"
	"sync"

	"github.com/taskrt/taskrt/api/server/pages"
	"github.com/taskrt/taskrt/docs"
	"github.com/taskrt/taskrt/internal/webfile"
)

// Where the site is.
const (
	root   = "/docs"
	prefix = root + "/"
)

// policy lets a page use what this server serves, and nothing else: no inline code, no frames, no other host.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"

// handler serves the site.
type handler struct {
	files func() map[string]*webfile.File // by their paths
}

// New puts the site before a handler, at /docs, with the console above it. The site is the same for everybody and holds no data, so nobody
// is asked for a token. It is rendered when somebody asks for it first.
func New(next http.Handler, door pages.Door, version string) http.Handler {
	h := &handler{files: sync.OnceValue(func() map[string]*webfile.File {
		files, err := packed(Config{Version: version, Console: true})
		if err != nil {
			panic(err) // what is embedded can be rendered: a test has done it
		}
		return files
	})}
	guarded := door.Keep(http.HandlerFunc(h.serve))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p := r.URL.Path; p == root || p == "/"+llmsFile || strings.HasPrefix(p, prefix) {
			guarded.ServeHTTP(w, pages.Visit(r))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// packed renders the site and compresses its files.
func packed(c Config) (map[string]*webfile.File, error) {
	b, err := readBook(docs.Pages)
	if err != nil {
		return nil, err
	}
	contents, err := b.render(c)
	if err != nil {
		return nil, err
	}
	files := map[string]*webfile.File{}
	if files["/"+llmsFile], err = webfile.New(llmsFile, b.llms(strings.TrimPrefix(prefix, "/"))); err != nil {
		return nil, err
	}
	for name, text := range contents {
		if files[prefix+name], err = webfile.New(name, text); err != nil {
			return nil, err
		}
	}
	files[prefix] = files[prefix+homePage+pageEnd]
	return files, nil
}

// serve serves a file.
func (h *handler) serve(w http.ResponseWriter, r *http.Request) {
	webfile.Page(w.Header(), policy)
	p := r.URL.Path
	all := h.files()
	switch {
	case all[p] != nil:
		all[p].ServeHTTP(w, r)
	case p == root:
		moved(w, strings.TrimPrefix(prefix, "/"))
	case all[p+pageEnd] != nil:
		moved(w, strings.TrimPrefix(p, prefix)+pageEnd)
	default:
		http.Error(w, "there is no such page: the list of all is at "+prefix, http.StatusNotFound)
	}
}

// moved sends a browser to a neighbour. The address is a relative one, as the path before it may be known to a proxy only.
func moved(w http.ResponseWriter, to string) {
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusFound)
}
