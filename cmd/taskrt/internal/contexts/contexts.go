// Package contexts keeps, in one file of the user's, what a client needs to reach a cluster: by name, with the token and with whom to trust
// (SPEC A3).
package contexts

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/trust"
)

// Limits of a file of contexts.
const (
	MaxContexts = 200
	MaxName     = 64
	MaxServers  = 64
	MaxURL      = 500
	MaxCA       = 256 << 10 // certificates of authorities; pins are short
	MaxCluster  = 100
	maxFile     = 1 << 20 // trust.ReadFile reads no more
)

// Context is what a client needs to reach one cluster.
type Context struct {
	Servers []string `json:"servers"` // URLs of nodes
	// CA says whom to trust behind https, as trust.Client takes it: pins, or the text of certificates. "": the system's authorities.
	CA        string `json:"ca,omitempty"`
	Token     string `json:"token,omitempty"`     // the credential itself, not the name of a file
	Namespace string `json:"namespace,omitempty"` // "": the default one
	// Cluster is the ID of the cluster that is meant, and no other (SPEC C2). "": whichever answers.
	Cluster string `json:"cluster,omitempty"`
}

// File is what the file of contexts holds.
type File struct {
	// Current is the name of the context that counts if neither a context nor a server is named. "": there is none.
	Current  string              `json:"current,omitempty"`
	Contexts map[string]*Context `json:"contexts"`
}

// UsageError is about what the user has asked for. Other errors are about files.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }
func (e *UsageError) Unwrap() error { return e.Err }

func usagef(format string, args ...any) error { return &UsageError{fmt.Errorf(format, args...)} }

// CheckName checks the name of a context.
func CheckName(name string) error {
	const may = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
	if name == "" || len(name) > MaxName || strings.Trim(name, may) != "" || strings.ContainsAny(name[:1], "._-") {
		return usagef("the name of a context is 1 to %d of a-z A-Z 0-9 . _ - and begins with a letter or a digit", MaxName)
	}
	return nil
}

// Check checks a context. The error names the field.
func (c *Context) Check() error {
	if len(c.Servers) == 0 || len(c.Servers) > MaxServers {
		return usagef("servers: must be 1 to %d URLs", MaxServers)
	}
	for _, s := range c.Servers {
		if s == "" || len(s) > MaxURL {
			return usagef("servers: a URL must have 1 to %d characters", MaxURL)
		}
	}
	if len(c.CA) > MaxCA {
		return usagef("ca: must be at most %d bytes", MaxCA)
	}
	if c.CA != "" {
		if _, err := trust.Client(c.CA); err != nil {
			return usagef("ca: %w", err)
		}
	}
	if c.Token != "" {
		if err := trust.CheckToken(c.Token); err != nil {
			return usagef("token: %w", err)
		}
	}
	if c.Namespace != "" {
		if err := api.CheckNamespaceName(c.Namespace); err != nil {
			return usagef("namespace: %s", api.ErrorOf(err).Detail)
		}
	}
	if len(c.Cluster) > MaxCluster {
		return usagef("cluster: must be at most %d characters", MaxCluster)
	}
	return nil
}

// check checks a whole file.
func (f *File) check() error {
	if len(f.Contexts) > MaxContexts {
		return usagef("there are %d contexts, at most %d are kept: taskrt context rm NAME", len(f.Contexts), MaxContexts)
	}
	for _, name := range f.Names() {
		if err := CheckName(name); err != nil {
			return fmt.Errorf("context %.70q: %w", name, err)
		}
		if f.Contexts[name] == nil {
			return usagef("context %s is null", name)
		}
		if err := f.Contexts[name].Check(); err != nil {
			return fmt.Errorf("context %s: %w", name, err)
		}
	}
	if f.Current != "" && f.Contexts[f.Current] == nil {
		return usagef("current: there is no context %.70q", f.Current)
	}
	return nil
}

// Names returns the names of all contexts, in order.
func (f *File) Names() []string { return slices.Sorted(maps.Keys(f.Contexts)) }

// Find returns a context.
func (f *File) Find(name string) (*Context, error) {
	c := f.Contexts[name]
	switch {
	case c != nil:
		return c, nil
	case len(f.Contexts) == 0:
		return nil, usagef("there is no context %q, nor any other: taskrt context add makes one", name)
	}
	return nil, usagef("there is no context %q: taskrt context list shows those that there are", name)
}

// Add adds a context. The first one becomes the current one. One of the same name is replaced only if the user says so.
func (f *File) Add(name string, c *Context, replace bool) error {
	if err := CheckName(name); err != nil {
		return err
	}
	if f.Contexts[name] != nil && !replace {
		return usagef("there is a context %s: say --replace if it is to go", name)
	}
	if len(f.Contexts) == 0 {
		f.Current = name
	}
	f.Contexts[name] = c
	return nil
}

// Use makes a context the current one.
func (f *File) Use(name string) error {
	_, err := f.Find(name)
	if err == nil {
		f.Current = name
	}
	return err
}

// Remove removes a context. If it was the current context, there is no current context then: another cluster must not take its place in silence.
func (f *File) Remove(name string) error {
	if _, err := f.Find(name); err != nil {
		return err
	}
	delete(f.Contexts, name)
	if f.Current == name {
		f.Current = ""
	}
	return nil
}
