package main

import (
	"fmt"
	"log/slog"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/internal/mux"
	"github.com/taskrt/taskrt/trust"
)

func secretCommand(p *program) *cli.Command {
	return &cli.Command{
		Name: "secret", Usage: "the file by which nodes and workers know each other", Category: "cluster",
		Subcommands: []*cli.Command{
			{
				Name: "new", Usage: "draw a cluster secret: taskrt secret new > FILE, and the same file on every node",
				Action: func(c *cli.Context) error {
					return p.stdout.Printf("%s\n", trust.Draw().Text())
				},
			},
			{
				Name: "worker", Usage: "derive what a worker needs on a machine that is trusted less than a node", ArgsUsage: "FILE",
				Action: func(c *cli.Context) error {
					all, err := readSecrets(c)
					if err != nil {
						return err
					}
					for _, s := range all {
						if err := p.stdout.Printf("%s\n", s.Worker(all).Text()); err != nil {
							return err
						}
					}
					return nil
				},
			},
		},
	}
}

// readSecrets reads the file of cluster secrets that is a command's one argument.
func readSecrets(c *cli.Context) ([]trust.Secret, error) {
	all, err := trust.ReadSecrets(c.Args().First())
	if err != nil {
		return nil, &exitError{exitFile, err}
	}
	return all, nil
}

// keyFlags say how a node or worker proves itself on the node port (SPEC A2).
func keyFlags() []cli.Flag {
	return []cli.Flag{
		stringFlag("", "cluster-secret", "", "FILE with the cluster secret, or a worker's: TLS for all nodes and workers"),
		stringFlag("", "node-cert", "", "FILE with a certificate of one's own, in place of the secret; its URI is taskrt://node/ID or taskrt://worker/ID"),
		stringFlag("", "node-key", "", "FILE with the key of --node-cert"),
		stringFlag("", "node-ca", "", "FILE with the certificates of the authorities of all nodes and workers"),
	}
}

// openKeys reads what keyFlags say. Nothing was said: nil.
func openKeys(c *cli.Context, role mux.Role, id string, log *slog.Logger) (*trust.Keys, error) {
	config := trust.Config{
		Role: role, ID: id, Secret: c.String("cluster-secret"), Cert: c.String("node-cert"), Key: c.String("node-key"), CA: c.String("node-ca"), Logger: log,
	}
	given := 0
	for _, file := range []string{config.Cert, config.Key, config.CA} {
		if file != "" {
			given++
		}
	}
	switch {
	case config.Secret == "" && given == 0:
		return nil, nil //nolint:nilnil // no keys is an answer
	case config.Secret != "" && given > 0:
		return nil, usagef(c, "--cluster-secret and --node-cert are both given: one of them is enough")
	case given > 0 && given < 3:
		return nil, usagef(c, "--node-cert, --node-key and --node-ca belong together")
	}
	keys, err := trust.Open(config)
	if err != nil {
		return nil, &exitError{exitFile, fmt.Errorf("the keys of this %s: %w", role, err)}
	}
	return keys, nil
}

// guardOf is keys for who may have none.
func guardOf(keys *trust.Keys) mux.Guard {
	if keys == nil {
		return nil
	}
	return keys
}
