package main

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api/auth"
	apiclient "github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/exit"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/keys"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/show"
	"github.com/taskrt/taskrt/internal/mux"
	"github.com/taskrt/taskrt/internal/terminal"
	"github.com/taskrt/taskrt/task/access"
	"github.com/taskrt/taskrt/trust"
)

func tokenCommand(p *program) *cli.Command {
	const cmd = "token"
	return &cli.Command{
		Name: cmd, Usage: "make, show, replace and revoke the tokens by which people and programs use the API", Category: "cluster",
		Subcommands: []*cli.Command{
			{
				Name: "root", Usage: "print the token of whoever holds the cluster secret; no server is asked",
				Flags:  []cli.Flag{stringFlag("", "cluster-secret", "", "FILE with the cluster secret"), outputFlag()},
				Action: func(c *cli.Context) error { return tokenRoot(p, c) },
			},
			{
				Name: "create", Usage: "make a token, and print it: it is shown this once, and kept nowhere", ArgsUsage: "NAME",
				Description: "The token is drawn here. The cluster gets its SHA-256 only. With -o json the token is the field credential.",
				Flags: reachFlags(
					listFlag(cmd, "role", "what it may do: "+strings.Join(access.All.Names(), ", ")+"; several, separated by commas, or given several times"),
					listFlag(cmd, "namespace", "where: names of namespaces, or the beginning of names and a *; default: everywhere"),
					listFlag(cmd, "behavior", "for which behaviors, likewise; default: all of them"),
					durationFlag(cmd, "ttl", "", "how long it holds, at most "+auth.MaxTTL.String()+"; default: until it is revoked"),
					intFlag(cmd, "rate", 0, fmt.Sprintf("requests per second that a node takes of it, at most %d; 0: no limit", auth.MaxRate)),
				),
				Action: p.client(tokenCreate),
			},
			{Name: "list", Usage: "list the tokens that yours may manage, by name", Flags: reachFlags(pageFlags(cmd, "tokens")...), Action: p.client(tokenList)},
			{Name: "show", Usage: "show a token, but for its secret", ArgsUsage: "NAME", Flags: reachFlags(), Action: p.client(tokenShow)},
			{Name: "self", Usage: "show the token by which this command asks", Flags: reachFlags(), Action: p.client(tokenSelf)},
			{Name: "revoke", Usage: "end tokens, and what they do now", ArgsUsage: "NAME…", Flags: reachFlags(), Action: p.client(tokenRevoke)},
			{
				Name: "rotate", Usage: "replace a token by another one of the same name and rights, and print it", ArgsUsage: "NAME",
				Flags: reachFlags(
					durationFlag(cmd, "overlap", auth.DefaultOverlap.String(), "how long the former one holds beside the new one, at most "+auth.MaxOverlap.String()),
				),
				Action: p.client(tokenRotate),
			},
			{
				Name: "enable-root", Usage: "turn the root token on again; it is asked of a node, by the cluster secret itself",
				Flags: []cli.Flag{
					stringFlag("", "cluster-secret", "", "FILE with the cluster secret"),
					stringFlag(cmd, "node", "127.0.0.1:7170", "HOST:PORT of a node's --raft; several, separated by commas, are tried in turn"),
				},
				Action: tokenEnableRoot,
			},
			{
				Name: "disable-root", Usage: "turn the root token off; only who holds the cluster secret turns it on again (enable-root)", Flags: reachFlags(),
				Action: p.client(func(c *cli.Context, cl *client) error { return apiclient.NewAccess(cl.Client).DisableRoot(cl.once(c)) }),
			},
		},
	}
}

func tokenRoot(p *program, c *cli.Context) error {
	to, err := answer(p, c)
	if err != nil {
		return err
	}
	file := c.String("cluster-secret")
	if file == "" {
		return usagef(c, "--cluster-secret is required")
	}
	text, err := keys.Root(file)
	if err != nil {
		return exit.With(exit.File, err)
	}
	return to.Show(map[string]string{"credential": text}, func(w *terminal.Table) { w.Row(text) })
}

func tokenEnableRoot(c *cli.Context) error {
	if c.String("cluster-secret") == "" {
		return usagef(c, "--cluster-secret is required")
	}
	own, err := keys.OpenSecret(mux.Node, "enable-root", c.String("cluster-secret"), slog.New(slog.DiscardHandler))
	if err != nil {
		return keyError(c, err)
	}
	refused, err := keys.EnableRoot(c.Context, own, splitList(c.String("node")))
	switch {
	case err == nil:
		return nil
	case refused:
		return exit.With(exit.Refused, err)
	}
	return exit.With(exit.Unreachable, err)
}

func tokenCreate(c *cli.Context, cl *client) error {
	r := auth.CreateTokenRequest{Name: c.Args().First(), Rate: int64(c.Int("rate"))}
	var err error
	for flag, to := range map[string]*[]string{"role": &r.Roles, "namespace": &r.Namespaces, "behavior": &r.Behaviors} {
		if *to, err = listOf(c, flag); err != nil {
			return err
		}
	}
	if r.TTL, err = durationOf(c, "ttl"); err != nil {
		return err
	}
	drawn := trust.DrawToken()
	r.Hash = drawn.HashText()
	made, err := apiclient.NewAccess(cl.Client).CreateToken(cl.once(c), r)
	return cl.printCredential(made, drawn, err)
}

// listOf reads a flag that may be given several times, with commas. An empty one is refused: of a token it would mean everything.
func listOf(c *cli.Context, flag string) (all []string, err error) {
	for _, list := range c.StringSlice(flag) {
		parts := splitList(list)
		if len(parts) == 0 {
			return nil, usagef(c, "--%s is empty", flag)
		}
		all = append(all, parts...)
	}
	return all, nil
}

func tokenRotate(c *cli.Context, cl *client) error {
	overlap, err := durationOf(c, "overlap")
	if err != nil {
		return err
	}
	drawn := trust.DrawToken()
	made, err := apiclient.NewAccess(cl.Client).RotateToken(cl.once(c), auth.RotateTokenRequest{
		Name: c.Args().First(), Overlap: &overlap, Hash: drawn.HashText(),
	})
	return cl.printCredential(made, drawn, err)
}

// printCredential prints a token alone, so that the output can be a file of --token-file; for programs, as the API shows a token that it has
// drawn itself.
func (c *client) printCredential(made *auth.CreatedToken, drawn trust.Token, err error) error {
	if err != nil {
		return err
	}
	if made.Credential = drawn.Text(); c.json {
		return c.answers.Encode(made)
	}
	if err := c.stdout.Printf("%s\n", made.Credential); err != nil {
		return fmt.Errorf("token %s holds, but nobody has it: rotate or revoke it: %w", made.Name, err)
	}
	return c.stderr.Printf("token %s: %s; it is shown this once. A file with it is for its owner only: chmod 600 FILE\n", made.Name, show.Rights(&made.Token))
}

func tokenList(c *cli.Context, cl *client) error {
	reply, err := apiclient.NewAccess(cl.Client).Tokens(cl.ctx, auth.TokensRequest{Limit: c.Int("limit"), Cursor: c.String("cursor")})
	if err != nil {
		return err
	}
	return cl.printPage(reply.Cursor, func(w *terminal.Table) { show.Tokens(w, reply.Tokens) })
}

func tokenShow(c *cli.Context, cl *client) error {
	t, err := apiclient.NewAccess(cl.Client).Token(cl.ctx, c.Args().First())
	return cl.printToken(t, err)
}

func tokenSelf(_ *cli.Context, cl *client) error {
	t, err := apiclient.NewAccess(cl.Client).Self(cl.ctx)
	return cl.printToken(t, err)
}

func (c *client) printToken(t *auth.Token, err error) error {
	if err != nil {
		return err
	}
	return c.print(func(w *terminal.Table) { show.Token(w, t) })
}

// tokenRevoke revokes as many tokens as it can: if one token is not there, the others are revoked all the same.
func tokenRevoke(c *cli.Context, cl *client) error {
	var errs []error
	for _, name := range c.Args().Slice() {
		if err := apiclient.NewAccess(cl.Client).RevokeToken(cl.ctx, name); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}
