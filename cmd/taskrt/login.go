package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api/auth"
	apiclient "github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/exit"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/input"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/login"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/show"
	"github.com/taskrt/taskrt/internal/terminal"
	"github.com/taskrt/taskrt/trust"
)

func loginCommand(p *program) *cli.Command {
	const cmd = "login"
	return &cli.Command{
		Name: cmd, Usage: "sign in, and keep the session's token in the context; without a context it is printed", Category: "cluster",
		Flags: reachFlags(
			stringFlag(cmd, "issuer", "", "at whom, as taskrt oidc list names it; default: the only one"),
			stringFlag(cmd, "jwt", "", "sign a workload in: its JWT as @FILE, or - for standard input"),
			listFlag(cmd, "scope", "what to ask the issuer for besides openid, like groups"),
		),
		Action: p.client(signIn),
	}
}

func logoutCommand(p *program) *cli.Command {
	return &cli.Command{
		Name: "logout", Usage: "end the session, and forget its token", Category: "cluster", Flags: reachFlags(),
		Action: p.client(func(c *cli.Context, cl *client) error {
			if err := apiclient.NewSignIn(cl.Client).SignOut(cl.ctx); err != nil {
				return err
			}
			_, err := cl.reach.KeepToken(c.Context, "")
			return err
		}),
	}
}

func signIn(c *cli.Context, cl *client) error {
	drawn, desk := trust.DrawToken(), apiclient.NewSignIn(cl.Client)
	r := auth.SignInRequest{Issuer: c.String("issuer"), Hash: drawn.HashText()}
	if jwt := c.String("jwt"); jwt != "" {
		text, err := input.Of(c, "--jwt", jwt, cl.stdin, auth.MaxJWT+2) // and the end of its line
		if err != nil {
			return err
		}
		r.Token = strings.TrimSpace(string(text))
	} else {
		places, err := desk.Places(cl.ctx)
		if err != nil {
			return err
		}
		at, err := login.Choose(places.Places, r.Issuer)
		if err != nil {
			return usagef(c, "%w", err)
		}
		r.Issuer = at.Name
		r.Token, err = login.Device(c.Context, at, c.StringSlice("scope"), func(url, code string) {
			_ = cl.stderr.Printf("open %s and enter %s\n", url, code) // who cannot read it will not come back
		})
		if err != nil {
			return exit.With(exit.Refused, err)
		}
	}
	made, err := desk.SignIn(cl.once(c), r)
	if err != nil {
		return err
	}
	context, err := cl.reach.KeepToken(c.Context, drawn.Text())
	if err != nil || context == "" || cl.json {
		return cl.printCredential(made, drawn, err)
	}
	return cl.stderr.Printf("signed in as %s: %s; context %s has the token\n", made.Subject, show.Rights(&made.Token), context)
}

func oidcCommand(p *program) *cli.Command {
	const cmd = "oidc"
	return &cli.Command{
		Name: cmd, Usage: "say whose word for people and workloads the cluster takes: issuers of OpenID Connect", Category: "cluster",
		Subcommands: []*cli.Command{
			{
				Name: "set", Usage: "take an issuer's word, or replace what its tokens give", ArgsUsage: "NAME",
				Flags: reachFlags(
					stringFlag(cmd, "issuer", "", "URL of the issuer, as its tokens name it"),
					stringFlag(cmd, "client-id", "", "client of taskrt login, and the audience that tokens must name"),
					listFlag(cmd, "rule", "'CLAIM=VALUE ROLES [NAMESPACES [BEHAVIORS]]', the lists with commas; several: the first that fits counts"),
					durationFlag(cmd, "session", auth.MaxSession.String(), "how long a session is, at most "+auth.MaxSession.String()),
				),
				Action: p.client(oidcSet),
			},
			{Name: "list", Usage: "list the issuers and their rules", Flags: reachFlags(), Action: p.client(func(_ *cli.Context, cl *client) error {
				reply, err := apiclient.NewSignIn(cl.Client).Issuers(cl.ctx)
				if err != nil {
					return err
				}
				return cl.print(func(w *terminal.Table) { show.Issuers(w, reply.Issuers) })
			})},
			{
				Name: "rm", Usage: "take an issuer's word no more; its sessions go on until they end or are revoked", ArgsUsage: "NAME", Flags: reachFlags(),
				Action: p.client(func(c *cli.Context, cl *client) error {
					return apiclient.NewSignIn(cl.Client).RemoveIssuer(cl.ctx, c.Args().First())
				}),
			},
		},
	}
}

func oidcSet(c *cli.Context, cl *client) (err error) {
	i := auth.Issuer{Name: c.Args().First(), URL: c.String("issuer"), ClientID: c.String("client-id")}
	for n, text := range c.StringSlice("rule") {
		rule, err := login.ParseRule(text)
		if err != nil {
			return usagef(c, "--rule %d: %w", n+1, err)
		}
		i.Rules = append(i.Rules, rule)
	}
	if i.Session, err = durationOf(c, "session"); err != nil {
		return err
	}
	set, err := apiclient.NewSignIn(cl.Client).PutIssuer(cl.ctx, i)
	if err != nil {
		return fmt.Errorf("issuer %s: %w", i.Name, err)
	}
	return cl.print(func(w *terminal.Table) { show.Issuers(w, []auth.Issuer{*set}) })
}
