// Package reach finds out how a command reaches its cluster: by flags, their variables, and contexts (SPEC A3).
package reach

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/contexts"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/keys"
	"github.com/taskrt/taskrt/trust"
)

// Flags are the flags that Read reads, beside --server and --namespace.
func Flags(flag keys.Flag) []cli.Flag {
	return []cli.Flag{
		keys.CAFlag(flag), keys.TokenFlag(flag),
		flag("context", "", "cluster that taskrt context add keeps, in place of --server; default: the one of taskrt context use"),
	}
}

// Reach is how a command reaches its cluster.
type Reach struct {
	Config    client.Config
	Namespace string

	context string // its name; "": there was a server, or there is no context
	store   *contexts.Store
}

// KeepToken puts a token into the context by which a command reaches its cluster, and returns the name of the context; "" if there is none. An
// empty token takes the former one out.
func (r *Reach) KeepToken(ctx context.Context, token string) (name string, err error) {
	if r.context == "" {
		return "", nil
	}
	return r.context, r.store.Update(ctx, func(f *contexts.File) error {
		c, err := f.Find(r.context)
		if err == nil {
			c.Token = token
		}
		return err
	})
}

// Read finds out how a command reaches its cluster. Each setting comes from a flag, else from the flag's variable, else from a context: the named
// context, or the current one. If a server is named, there is no context, because the token of a context goes to the context's servers only. servers
// are the servers of --server, or the default. warn is told what goes wrong beside the requests. An error is a *keys.UsageError, or about a file.
func Read(c *cli.Context, servers []string, warn func(error)) (*Reach, error) {
	name, err := contextNamed(c)
	if err != nil {
		return nil, err
	}
	from, kept := (*contexts.Store)(nil), &contexts.Context{}
	if name != "" || !isGiven(c, "server") {
		if name, from, kept, err = find(name); err != nil {
			return nil, err
		}
	}
	r := &Reach{context: name, store: from, Namespace: c.String("namespace"), Config: client.Config{URLs: servers, Cluster: kept.Cluster}}
	if len(kept.Servers) > 0 {
		r.Config.URLs = kept.Servers
	}
	if kept.Namespace != "" && !isGiven(c, "namespace") {
		r.Namespace = kept.Namespace
	}
	ca, err := keys.ReadCA(c)
	if err != nil {
		return nil, err
	}
	learned := func(string) {}
	if ca == "" && kept.CA != "" {
		ca = kept.CA
		learned = from.Learner(name, kept, func(err error) {
			warn(fmt.Errorf("whom context %s trusts from now on cannot be kept: %w", name, err))
		})
	}
	if ca != "" {
		if r.Config.TLS, err = trust.LearningClient(ca, learned); err != nil {
			return nil, usagef("--ca: %w", err)
		}
	}
	if r.Config.Token, err = keys.Token(c); err != nil {
		return nil, err
	}
	if r.Config.Token == nil && kept.Token != "" {
		r.Config.Token = client.StaticToken(kept.Token)
	}
	return r, nil
}

func usagef(format string, args ...any) error {
	return &keys.UsageError{Err: fmt.Errorf(format, args...)}
}

// contextNamed returns the name of the context that is meant; "": none is named. A flag wins over a variable; apart from this a server and a
// context exclude each other: nobody can tell which of two clusters is meant.
func contextNamed(c *cli.Context) (string, error) {
	name := c.String("context")
	switch {
	case name == "" || !isGiven(c, "server"):
		return name, nil
	case isVariable(c, "context") && !isVariable(c, "server"):
		return "", nil
	case isVariable(c, "server"):
		return "", usagef("context %s is meant, and %s is set: a context has servers of its own, unset the variable", name, variable("server"))
	}
	return "", usagef("--context and --server are both given: a context has servers of its own")
}

// find finds a context of the user's; "": the current one, which need not be.
func find(name string) (string, *contexts.Store, *contexts.Context, error) {
	none := &contexts.Context{}
	store, err := contexts.OfUser()
	if err != nil && name == "" {
		return "", nil, none, nil // whoever has no home has no contexts
	}
	if err != nil {
		return "", nil, nil, err
	}
	f, err := store.Read()
	if err != nil {
		return "", nil, nil, err
	}
	if name == "" {
		name = f.Current
	}
	if name == "" {
		return "", nil, none, nil
	}
	kept, err := f.Find(name)
	if unknown, ok := errors.AsType[*contexts.UsageError](err); ok {
		return "", nil, nil, usagef("--context: %w", unknown.Err)
	}
	return name, store, kept, err
}

// isGiven reports whether a flag, or its variable, has a value. An empty variable counts as none.
func isGiven(c *cli.Context, name string) bool { return c.IsSet(name) && c.String(name) != "" }

// isVariable reports whether a flag has its value from its variable.
func isVariable(c *cli.Context, name string) bool {
	value := os.Getenv(variable(name))
	return value != "" && value == c.String(name)
}

func variable(flag string) string { return "TASKRT_" + strings.ToUpper(flag) }

// Explain says what an error of a request has to do with how the command reached its cluster.
func (r *Reach) Explain(err error) error {
	switch code := api.CodeOf(err); {
	case code == api.CodeOtherCluster && r.context != "":
		return fmt.Errorf("context %s is not for the cluster that is there now: %w", r.context, err)
	case code == api.CodeNotFound: // no path that this build asks for is unknown to a server of this build
		return fmt.Errorf("%w; the server may be of a former version, which does not know this request: `taskrt cluster status` shows the versions", err)
	case code != api.CodeUnauthenticated && code != api.CodeTokenRevoked:
	case r.Config.Token == nil:
		return fmt.Errorf("%w; say --token-file FILE, set %s, or use a context: taskrt context --help", err, keys.TokenVariable)
	case r.context != "":
		return fmt.Errorf("%w (context %s)", err, r.context)
	}
	return err
}
