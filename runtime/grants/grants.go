// Package grants is what an operator allows modules beyond computing (SPEC B6). Nothing is allowed that no rule names.
package grants

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
)

// Limits of the file and of secrets.
const (
	MaxFile   = 1 << 20  // bytes
	MaxRules  = 1000     // of a file
	MaxNames  = 100      // patterns of a rule
	MaxSecret = 64 << 10 // bytes
	MaxName   = 128      // bytes of a secret's name
)

// Errors of Secret.
var (
	ErrDenied   = errors.New("grants: no rule allows it")
	ErrNotFound = errors.New("grants: there is no such secret")
	ErrInvalid  = errors.New("grants: a secret's name is 1 to 128 of A-Z, a-z, 0-9, '.', '_' and '-', and begins with a letter or digit")
)

// Grants are the rules of one file. nil grants nothing.
type Grants struct {
	dir   string
	rules []rule
}

type rule struct {
	Namespace string   `json:"namespace"`
	Behavior  string   `json:"behavior"`
	Secrets   []string `json:"secrets"`
}

var secretName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// Read reads a file of rules. A relative secrets_dir begins where the file lies.
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

// Parse reads rules. Errors name the field.
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
	g := &Grants{rules: file.Grants}
	for i, r := range g.rules {
		if err := r.check(); err != nil {
			return nil, fmt.Errorf("grants[%d].%w", i, err)
		}
		if len(r.Secrets) > 0 && file.SecretsDir == "" {
			return nil, fmt.Errorf("secrets_dir: missing, but grants[%d] grants secrets", i)
		}
	}
	if g.dir = file.SecretsDir; g.dir != "" && !filepath.IsAbs(g.dir) {
		g.dir = filepath.Join(base, g.dir)
	}
	if g.dir == "" {
		return g, nil
	}
	if info, err := os.Stat(g.dir); err != nil {
		return nil, fmt.Errorf("secrets_dir: %w", err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("secrets_dir: %s is no directory", g.dir)
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
	if len(r.Secrets) > MaxNames {
		return fmt.Errorf("secrets: %d, at most %d", len(r.Secrets), MaxNames)
	}
	for k, s := range r.Secrets {
		if err := pattern(s); err != nil {
			return fmt.Errorf("secrets[%d]: %w", k, err)
		}
	}
	return nil
}

var patternForm = regexp.MustCompile(`^[A-Za-z0-9._*-]{1,128}$`)

func pattern(s string) error {
	if !patternForm.MatchString(s) {
		return fmt.Errorf("%q is not 1 to 128 of A-Z, a-z, 0-9, '.', '_', '-', and * for any number of them", s)
	}
	return nil
}

// matches tells whether a pattern is for name. Neither has a slash, of which path.Match thinks more.
func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// Secrets tells whether a behavior is granted any.
func (g *Grants) Secrets(namespace, behavior string) bool {
	if g == nil {
		return false
	}
	for _, r := range g.rules {
		if len(r.Secrets) > 0 && matches(r.Namespace, namespace) && matches(r.Behavior, behavior) {
			return true
		}
	}
	return false
}

// Secret reads one that a rule grants a behavior: a file of its name in secrets_dir, as it is now. What is not granted is denied
// whether it is there or not.
func (g *Grants) Secret(namespace, behavior, name string) ([]byte, error) {
	if !secretName.MatchString(name) {
		return nil, ErrInvalid
	}
	if !g.allows(namespace, behavior, name) {
		return nil, ErrDenied
	}
	f, err := os.OpenInRoot(g.dir, name)
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

func (g *Grants) allows(namespace, behavior, name string) bool {
	if g == nil {
		return false
	}
	for _, r := range g.rules {
		if !matches(r.Namespace, namespace) || !matches(r.Behavior, behavior) {
			continue
		}
		for _, s := range r.Secrets {
			if matches(s, name) {
				return true
			}
		}
	}
	return false
}
