package complete

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/cmdline"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/contexts"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/explain"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/form"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/reach"
	"github.com/taskrt/taskrt/task/access"
)

// values are the words of flags that have some.
var values = map[string][]string{
	"output":     formWords(),
	"status":     {"CREATED", "RUNNING", "SUCCESS", "FAILURE", "RETRYING", "DEAD"},
	"final":      {"true", "false"},
	"refused":    {"true", "false"},
	"order":      {"asc", "desc"},
	"if-exists":  {"join", "fail", "rerun", "resubmit"},
	"until":      {"final", "running", "waiting", "success", "failure", "outcome"},
	"log-level":  {"debug", "info", "warn", "error"},
	"log-format": {"text", "json"},
	"log-store":  {"bolt", "wal"},
	"tokens":     {"keep", "drop"},
	"health":     {"live", "ready"},
	"role":       access.All.Names(),
	"error":      explain.Codes(explain.Task),
}

func formWords() (words []string) {
	for _, f := range form.All {
		words = append(words, string(f))
	}
	return words
}

// kind is what names are of.
type kind string

const (
	tasks      kind = "tasks"
	operations kind = "operations"
	behaviors  kind = "behaviors"
	versions   kind = "versions" // of the behavior that is the first argument
	namespaces kind = "namespaces"
	nodes      kind = "nodes"
	workers    kind = "workers"
	tokens     kind = "tokens"
	issuers    kind = "issuers"
	runs       kind = "runs"
	known      kind = "contexts"
)

// ofFlag is what flags name.
var ofFlag = map[string]kind{
	"namespace": namespaces, "behavior": behaviors, "node": nodes, "worker": workers, "context": known, "parent": operations, "token": tokens,
}

// ofArgument is what the n-th argument of a command names; "": nothing that could be looked up.
func ofArgument(at *cmdline.Place, n int) kind {
	group := at.Path[0]
	switch cmdline.Argument(at.Command, n) {
	case "ID":
		if group == "op" {
			return operations
		}
		return tasks
	case "BEHAVIOR":
		return behaviors
	case "NODE":
		return nodes
	case "VERSION":
		return versions
	case "RUN":
		return runs
	case "NAME":
		return map[string]kind{"behavior": behaviors, "namespace": namespaces, "token": tokens, "oidc": issuers, "context": known}[group]
	}
	return ""
}

// reaching are the flags that say which cluster is asked, and for what.
var reaching = []string{"server", "ca", "token-file", "context", "namespace", "config"}

// live are names that the cluster knows, or the file of contexts.
func live(ctx context.Context, app *cli.App, at *cmdline.Place, of kind, word, server string) (names []string) {
	if of == "" || at.Command == nil {
		return nil
	}
	ask := &cli.App{
		Name: app.Name, Flags: app.Flags, HideHelpCommand: true, ExitErrHandler: func(*cli.Context, error) {},
		Commands: []*cli.Command{{Name: "names", Flags: at.Command.Flags, Action: func(c *cli.Context) (err error) {
			names, err = look(c, of, at.Arguments, word, server)
			return err
		}}},
	}
	line := []string{app.Name, "names"}
	for _, g := range at.Given {
		name, _, _ := strings.Cut(strings.TrimPrefix(g, "--"), "=")
		if slices.Contains(reaching, name) {
			line = append(line, g)
		}
	}
	ordered, err := cmdline.Arrange(ask, line)
	if err != nil || ask.RunContext(ctx, ordered) != nil {
		return nil
	}
	return slices.DeleteFunc(names, func(s string) bool { return !harmless.MatchString(s) })
}

// harmless are names that a shell takes as one word, even if a stranger chose them.
var harmless = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.:@/+-]*$`)

func look(c *cli.Context, of kind, arguments []string, word, server string) ([]string, error) {
	if of == known {
		store, err := contexts.OfUser()
		if err != nil {
			return nil, err
		}
		f, err := store.Read()
		if err != nil {
			return nil, err
		}
		return f.Names(), nil
	}
	urls := strings.FieldsFunc(c.String("server"), func(r rune) bool { return r == ',' || r == ' ' })
	if len(urls) == 0 {
		urls = []string{server}
	}
	to, err := reach.Read(c, urls, func(error) {})
	if err != nil {
		return nil, err
	}
	cl, err := client.New(to.Config)
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	return asker{cl, to.Namespace}.names(c.Context, of, arguments, word)
}

type asker struct {
	*client.Client
	namespace string
}

// most is how many names are shown at most.
const most = 100

// namesOf are the names of a list.
func namesOf[T any](all []T, err error, name func(T) string) (names []string, _ error) {
	for _, x := range all {
		names = append(names, name(x))
	}
	return names, err
}

func (a asker) names(ctx context.Context, of kind, arguments []string, word string) ([]string, error) {
	switch of {
	case tasks:
		return a.tasks(ctx, word)
	case operations:
		all, err := a.Operations(ctx, api.OperationsRequest{Namespace: a.namespace, Limit: api.MaxListLimit})
		if err != nil {
			return nil, err
		}
		return namesOf(all.Operations, nil, func(o *api.Operation) string { return o.ID })
	case behaviors:
		all, err := a.Behaviors(ctx, a.namespace)
		return namesOf(all, err, func(b api.Behavior) string { return b.Name })
	case versions:
		b, err := a.Behavior(ctx, a.namespace, arguments[0])
		if err != nil {
			return nil, err
		}
		return namesOf(b.Versions, nil, func(v api.BehaviorVersion) string { return v.Version[:min(12, len(v.Version))] })
	case namespaces:
		all, err := a.Namespaces(ctx)
		return namesOf(all, err, func(n api.Namespace) string { return n.Name })
	case nodes:
		s, err := a.Cluster(ctx)
		if err != nil {
			return nil, err
		}
		return namesOf(s.Nodes, nil, func(n api.Node) string { return n.ID })
	case workers:
		all, err := a.Workers(ctx)
		return namesOf(all, err, func(k api.Worker) string { return k.ID })
	}
	return a.cluster(ctx, of)
}

// cluster are names that tokens and maintenance go by.
func (a asker) cluster(ctx context.Context, of kind) ([]string, error) {
	switch of {
	case tokens:
		all, err := client.NewAccess(a.Client).Tokens(ctx, auth.TokensRequest{})
		if err != nil {
			return nil, err
		}
		return namesOf(all.Tokens, nil, func(t auth.Token) string { return t.Name })
	case issuers:
		all, err := client.NewSignIn(a.Client).Issuers(ctx)
		if err != nil {
			return nil, err
		}
		return namesOf(all.Issuers, nil, func(i auth.Issuer) string { return i.Name })
	case runs:
		all, err := a.MaintenanceRuns(ctx)
		return namesOf(all, err, func(r api.MaintenanceRun) string { return strconv.FormatInt(r.Run, 10) })
	}
	return nil, nil
}

// tasks are the last tasks whose IDs begin with what is typed. A server that can select neither the last nor by beginning is asked for any tasks.
func (a asker) tasks(ctx context.Context, word string) ([]string, error) {
	r := api.ListRequest{Namespace: a.namespace, IDPrefix: word, Desc: true, Limit: most}
	all, err := a.Tasks(ctx, r)
	if api.CodeOf(err) == api.CodeUnknownField {
		all, err = a.Tasks(ctx, api.ListRequest{Namespace: a.namespace, Limit: api.MaxListLimit})
	}
	if err != nil {
		return nil, err
	}
	return namesOf(all.Tasks, nil, func(t *api.Task) string { return t.ID })
}
