// Package keys reads the flags by which nodes, workers and clients prove themselves and trust each other (SPEC A2, A3).
package keys

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/internal/mux"
	"github.com/taskrt/taskrt/internal/wall"
	"github.com/taskrt/taskrt/node/access"
	"github.com/taskrt/taskrt/trust"
)

// UsageError is a command line that makes no sense. Other errors are about files.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }
func (e *UsageError) Unwrap() error { return e.Err }

func usage(text string) error { return &UsageError{errors.New(text)} }

// Flag makes a flag, and its variable, of a name, a default and what it is for.
type Flag func(name, value, usage string) cli.Flag

// Flags say how a node or worker proves itself on the node port.
func Flags(flag Flag) []cli.Flag {
	return []cli.Flag{
		flag("cluster-secret", "", "FILE with the cluster secret, or a worker's: TLS for all nodes and workers"),
		flag("node-cert", "", "FILE with a certificate of one's own, in place of the secret's between nodes and workers; its URI is taskrt://node/ID or taskrt://worker/ID"),
		flag("node-key", "", "FILE with the key of --node-cert"),
		flag("node-ca", "", "FILE with the certificates of the authorities of all nodes and workers"),
	}
}

// Open reads what Flags say. Nothing was said: nil.
func Open(c *cli.Context, role mux.Role, id string, log *slog.Logger) (*trust.Keys, error) {
	config := trust.Config{
		Role: role, ID: id, Secret: c.String("cluster-secret"), Cert: c.String("node-cert"), Key: c.String("node-key"), CA: c.String("node-ca"), Logger: log,
	}
	own, all := config.Cert+config.Key+config.CA != "", config.Cert != "" && config.Key != "" && config.CA != ""
	switch {
	case own && !all:
		return nil, usage("--node-cert, --node-key and --node-ca belong together")
	case config.Secret == "" && !own:
		return nil, nil //nolint:nilnil // no keys is an answer
	}
	return open(config)
}

// OpenSecret is Open for a file with a secret.
func OpenSecret(role mux.Role, id, file string, log *slog.Logger) (*trust.Keys, error) {
	return open(trust.Config{Role: role, ID: id, Secret: file, Logger: log})
}

func open(config trust.Config) (*trust.Keys, error) {
	if err := wall.Close(); err != nil { // from here on there are secrets in this process (SPEC A9)
		return nil, err
	}
	keys, err := trust.Open(config)
	if err != nil {
		return nil, fmt.Errorf("the keys of this %s: %w", config.Role, err)
	}
	return keys, nil
}

// Guard is keys for who may have none.
func Guard(keys *trust.Keys) mux.Guard {
	if keys == nil {
		return nil
	}
	return keys
}

// Tokens returns a function that returns the hashes of the tokens that follow from the secrets of keys, as the file is then (SPEC A4). Own
// certificates without a secret give none: then Tokens returns nil.
func Tokens(k *trust.Keys) func() access.Static {
	if k == nil || len(k.RootTokens()) == 0 {
		return nil
	}
	return func() access.Static {
		roots, workers := k.TokenHashes()
		return access.Static{Roots: roots, Workers: workers}
	}
}

// PairFlags are the port for clients' own certificate.
func PairFlags(flag Flag) []cli.Flag {
	return []cli.Flag{
		flag("tls-cert", "", "FILE with a certificate of one's own for --http; default: one that the cluster secret vouches for"),
		flag("tls-key", "", "FILE with the key of --tls-cert"),
	}
}

// OpenPair reads what PairFlags say. Nothing was said: nil.
func OpenPair(c *cli.Context) (*trust.Pair, error) {
	cert, key := c.String("tls-cert"), c.String("tls-key")
	switch {
	case cert == "" && key == "":
		return nil, nil //nolint:nilnil // no pair is an answer
	case cert == "" || key == "":
		return nil, usage("--tls-cert and --tls-key belong together")
	}
	if err := wall.Close(); err != nil { // SPEC A9
		return nil, err
	}
	pair, err := trust.OpenPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert: %w", err)
	}
	return pair, nil
}

// API is the TLS of the port for clients; nil: it has none. Clients dial these names, or this machine.
func API(pair *trust.Pair, keys *trust.Keys, names []string) *tls.Config {
	switch {
	case pair != nil:
		return pair.TLS()
	case keys == nil:
		return nil
	}
	hosts := []string{"localhost", "127.0.0.1", "::1"}
	for _, name := range names {
		if !slices.Contains(hosts, name) {
			hosts = append(hosts, name)
		}
	}
	return keys.API(hosts...)
}

// Watch reads the files again when they change, until ctx ends. There may be none.
func Watch(ctx context.Context, pair *trust.Pair, keys *trust.Keys, log *slog.Logger) {
	var wg sync.WaitGroup
	if keys != nil {
		wg.Go(func() { keys.Watch(ctx) })
	}
	if pair != nil {
		wg.Go(func() { pair.Watch(ctx, log) })
	}
	wg.Wait()
}

// CAFlag says whom a client trusts.
func CAFlag(flag Flag) cli.Flag {
	return flag("ca", "", "whom to trust behind https: sha256:… as `taskrt secret ca` prints it, or a FILE of certificates; default: the system's authorities")
}

// Client reads CAFlag. Nothing was said: nil.
func Client(c *cli.Context) (*tls.Config, error) {
	ca, err := ReadCA(c)
	if ca == "" {
		return nil, err
	}
	config, err := trust.Client(ca)
	if err != nil {
		return nil, &UsageError{fmt.Errorf("--ca: %w", err)}
	}
	return config, nil
}

// ReadCA reads CAFlag as trust.Client takes it: the text of a file in place of the file's name. Nothing was said: "".
func ReadCA(c *cli.Context) (string, error) {
	ca := c.String("ca")
	if ca == "" || strings.HasPrefix(ca, "sha256:") {
		return ca, nil
	}
	text, err := os.ReadFile(ca)
	if err != nil {
		return "", fmt.Errorf("--ca: %w", err)
	}
	return string(text), nil
}

// Worker returns the lines of a worker's file for a file of cluster secrets.
func Worker(file string) (lines []string, err error) {
	all, err := trust.ReadSecrets(file)
	for _, s := range all {
		lines = append(lines, s.Worker(all).Text())
	}
	return lines, err
}

// CA returns whom the clients of a file of cluster secrets trust: a fingerprint, or the lines of a certificate.
func CA(file string, asPEM bool) (lines []string, err error) {
	all, err := trust.ReadSecrets(file)
	if err != nil {
		return nil, err
	}
	if !asPEM {
		return []string{all[0].APIPin()}, nil
	}
	return strings.Split(strings.TrimSpace(string(all[0].APICertificate())), "\n"), nil
}
