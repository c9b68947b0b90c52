// Package grants is what an operator allows modules to do beyond computing (SPEC B6). Nothing is allowed unless a
// rule names it.
package grants

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"sync/atomic"
	"time"

	"github.com/taskrt/taskrt/runtime/fetch"
)

// These are limits of the file and of secrets.
const (
	MaxFile   = 1 << 20  // bytes
	MaxRules  = 1000     // of a file
	MaxNames  = 100      // patterns of a rule
	MaxSecret = 64 << 10 // bytes
	MaxName   = 128      // bytes of a secret's name
)

// These are the errors of Secret.
var (
	ErrDenied   = errors.New("grants: no rule allows it")
	ErrNotFound = errors.New("grants: there is no such secret")
	ErrInvalid  = errors.New("grants: a secret's name is 1 to 128 of A-Z, a-z, 0-9, '.', '_' and '-', and begins with a letter or digit")
)

// Grants are the rules of one file. A nil *Grants grants nothing.
type Grants struct {
	now atomic.Pointer[set]
}

// set is what a file says. It does not change. A nil *set grants nothing.
type set struct {
	dir   string
	rules []rule
}

// set returns what is granted now.
func (g *Grants) set() *set {
	if g == nil {
		return nil
	}
	return g.now.Load()
}

// Replace grants what by grants, and nothing else, from the next question on. An attempt keeps the secrets that it has read, and a request that
// has begun goes on.
func (g *Grants) Replace(by *Grants) { g.now.Store(by.set()) }

type rule struct {
	Namespace string   `json:"namespace"`
	Behavior  string   `json:"behavior"`
	Secrets   []string `json:"secrets"`
	HTTP      []http   `json:"http"`
	Tasks     []string `json:"tasks"`

	fetches []*fetch.Rule // of HTTP
}

// http is a rule of package fetch, as it is written in the file.
type http struct {
	Hosts            []string `json:"hosts"`
	Schemes          []string `json:"schemes"`
	Methods          []string `json:"methods"`
	Private          []string `json:"private"`
	MaxRequestBytes  *int64   `json:"max_request_bytes"`
	MaxResponseBytes *int64   `json:"max_response_bytes"`
	Timeout          string   `json:"timeout"`
}

// These are defaults and limits of requests.
const (
	DefaultBody    = 1 << 20  // bytes of a request's or response's body
	MaxBody        = 16 << 20 // at most
	DefaultTimeout = 30 * time.Second
	MaxTimeout     = 10 * time.Minute
)

var secretName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// Read reads a file of rules. A relative secrets_dir starts at the directory of the file.
func Read(file string) (*Grants, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, err
	}
	g, err := Parse(data, filepath.Dir(file))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return g, nil
}

// Parse reads rules. Its errors name the field.
func Parse(data []byte, base string) (*Grants, error) {
	if len(data) > MaxFile {
		return nil, fmt.Errorf("more than %d bytes", MaxFile)
	}
	var file struct {
		SecretsDir string `json:"secrets_dir"`
		Grants     []rule `json:"grants"`
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&file); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more behind the object")
	}
	if len(file.Grants) > MaxRules {
		return nil, fmt.Errorf("grants: %d, at most %d", len(file.Grants), MaxRules)
	}
	now := &set{rules: file.Grants}
	for i := range now.rules {
		r := &now.rules[i]
		if err := r.check(); err != nil {
			return nil, fmt.Errorf("grants[%d].%w", i, err)
		}
		if len(r.Secrets) > 0 && file.SecretsDir == "" {
			return nil, fmt.Errorf("secrets_dir: missing, but grants[%d] grants secrets", i)
		}
	}
	g := &Grants{}
	g.now.Store(now)
	if now.dir = file.SecretsDir; now.dir != "" && !filepath.IsAbs(now.dir) {
		now.dir = filepath.Join(base, now.dir)
	}
	if now.dir == "" {
		return g, nil
	}
	if info, err := os.Stat(now.dir); err != nil {
		return nil, fmt.Errorf("secrets_dir: %w", err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("secrets_dir: %s is no directory", now.dir)
	}
	return g, nil
}

func (r *rule) check() error {
	if err := pattern(r.Namespace); err != nil {
		return fmt.Errorf("namespace: %w", err)
	}
	if err := pattern(r.Behavior); err != nil {
		return fmt.Errorf("behavior: %w", err)
	}
	if err := patterns("secrets", r.Secrets); err != nil {
		return err
	}
	if err := patterns("tasks", r.Tasks); err != nil {
		return err
	}
	if len(r.HTTP) > MaxNames {
		return fmt.Errorf("http: %d, at most %d", len(r.HTTP), MaxNames)
	}
	for k := range r.HTTP {
		f, err := r.HTTP[k].rule()
		if err != nil {
			return fmt.Errorf("http[%d].%w", k, err)
		}
		r.fetches = append(r.fetches, f)
	}
	return nil
}

// hostForm is a name, a name with a leading "*.", "*", or an address (an IPv6 address in brackets), and optionally a port.
var hostForm = regexp.MustCompile(`^(\*|(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])(:[0-9]{1,5})?$`)

func (h *http) rule() (*fetch.Rule, error) {
	r := &fetch.Rule{
		Hosts: h.Hosts, Schemes: h.Schemes, Methods: h.Methods, MaxRequestBytes: DefaultBody, MaxResponseBytes: DefaultBody, Timeout: DefaultTimeout,
	}
	if len(r.Hosts) == 0 || len(r.Hosts) > MaxNames {
		return nil, fmt.Errorf("hosts: %d, must be 1 to %d", len(r.Hosts), MaxNames)
	}
	for i, s := range r.Hosts {
		if !hostForm.MatchString(s) || len(s) > 260 {
			return nil, fmt.Errorf("hosts[%d]: %.60q is no host in lower case, maybe with *. before it and :port behind it, nor *", i, s)
		}
	}
	if r.Schemes == nil {
		r.Schemes = []string{"https"}
	}
	for i, s := range r.Schemes {
		if s != "https" && s != "http" {
			return nil, fmt.Errorf("schemes[%d]: %.20q is neither https nor http", i, s)
		}
	}
	if r.Methods == nil {
		r.Methods = []string{"GET", "HEAD"}
	}
	for i, s := range r.Methods {
		if !methodForm.MatchString(s) || s == "CONNECT" || s == "TRACE" {
			return nil, fmt.Errorf("methods[%d]: %.20q", i, s)
		}
	}
	for i, s := range h.Private {
		p, err := netip.ParsePrefix(s)
		if err != nil {
			return nil, fmt.Errorf("private[%d]: %w", i, err)
		}
		r.Private = append(r.Private, p.Masked())
	}
	for name, n := range map[string]struct{ given, to *int64 }{ // order-free: one error is as good as the other
		"max_request_bytes": {h.MaxRequestBytes, &r.MaxRequestBytes}, "max_response_bytes": {h.MaxResponseBytes, &r.MaxResponseBytes},
	} {
		if n.given == nil {
			continue
		}
		if *n.given < 0 || *n.given > MaxBody {
			return nil, fmt.Errorf("%s: %d, must be 0 to %d", name, *n.given, MaxBody)
		}
		*n.to = *n.given
	}
	if h.Timeout != "" {
		var err error
		if r.Timeout, err = time.ParseDuration(h.Timeout); err != nil || r.Timeout <= 0 || r.Timeout > MaxTimeout {
			return nil, fmt.Errorf("timeout: %.20q, must be a duration up to %v", h.Timeout, MaxTimeout)
		}
	}
	return r, nil
}

var methodForm = regexp.MustCompile(`^[A-Z]{1,20}$`)

// HTTP returns the rules for a behavior's requests. If there are none, the behavior may make no request. Each call
// returns the same values, until Replace.
func (g *Grants) HTTP(namespace, behavior string) (rules []*fetch.Rule) {
	s := g.set()
	if s == nil {
		return nil
	}
	for i := range s.rules {
		if r := &s.rules[i]; r.covers(namespace, behavior) {
			rules = append(rules, r.fetches...)
		}
	}
	return rules
}

var patternForm = regexp.MustCompile(`^[A-Za-z0-9._*-]{1,128}$`)

func pattern(s string) error {
	if !patternForm.MatchString(s) {
		return fmt.Errorf("%q is not 1 to 128 of A-Z, a-z, 0-9, '.', '_', '-', and * for any number of them", s)
	}
	return nil
}

func patterns(field string, list []string) error {
	if len(list) > MaxNames {
		return fmt.Errorf("%s: %d, at most %d", field, len(list), MaxNames)
	}
	for k, s := range list {
		if err := pattern(s); err != nil {
			return fmt.Errorf("%s[%d]: %w", field, k, err)
		}
	}
	return nil
}

// matches tells whether name matches a pattern. Neither has a slash, which path.Match would treat in a special way.
func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// covers tells whether a rule is for a behavior.
func (r *rule) covers(namespace, behavior string) bool {
	return matches(r.Namespace, namespace) && matches(r.Behavior, behavior)
}

// Secrets tells whether a behavior is granted any secret.
func (g *Grants) Secrets(namespace, behavior string) bool {
	return g.set().any(namespace, behavior, func(r *rule) bool { return len(r.Secrets) > 0 })
}

// AnyTasks tells whether a behavior may submit tasks of any behavior.
func (g *Grants) AnyTasks(namespace, behavior string) bool {
	return g.set().any(namespace, behavior, func(r *rule) bool { return len(r.Tasks) > 0 })
}

// Tasks tells whether a behavior may submit tasks of the behavior of, which may be itself.
func (g *Grants) Tasks(namespace, behavior, of string) bool {
	return g.set().any(namespace, behavior, func(r *rule) bool { return matchesAny(r.Tasks, of) })
}

// any tells whether a rule for a behavior grants something.
func (s *set) any(namespace, behavior string, grants func(*rule) bool) bool {
	if s == nil {
		return false
	}
	return slices.ContainsFunc(s.rules, func(r rule) bool { return r.covers(namespace, behavior) && grants(&r) })
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, name) })
}

// Secret reads a secret that a rule grants to a behavior: the file of its name in secrets_dir, as the file is now. A
// secret that is not granted is denied, whether it exists or not.
func (g *Grants) Secret(namespace, behavior, name string) ([]byte, error) {
	if !secretName.MatchString(name) {
		return nil, ErrInvalid
	}
	s := g.set()
	if !s.any(namespace, behavior, func(r *rule) bool { return matchesAny(r.Secrets, name) }) {
		return nil, ErrDenied
	}
	f, err := os.OpenInRoot(s.dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("grants: secret %s: %w", name, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxSecret+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("grants: secret %s: %w", name, err)
	case len(data) > MaxSecret:
		return nil, fmt.Errorf("grants: secret %s has more than %d bytes", name, MaxSecret)
	}
	return data, nil
}
