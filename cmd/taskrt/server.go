package main

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/cmd/taskrt/internal/exit"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/guests"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/keys"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/member"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/ports"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/schedule"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/supervisor"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/upkeep"
	"github.com/taskrt/taskrt/node"
	"github.com/taskrt/taskrt/runtime/grants"
)

func (p *program) serverCommand() *cli.Command {
	return &cli.Command{
		Name: "server", Usage: "run one node of a cluster; the same command line for first start, restart and rejoin", Category: "cluster",
		Flags: append([]cli.Flag{
			stringFlag("", "id", "", "the node's identity: unique in the cluster, the same for ever"),
			stringFlag("", "dir", "", "directory for everything that it keeps"),
			stringFlag("", "http", "127.0.0.1:7070", "HOST:PORT for clients"),
			stringFlag("", "http-advertise", "", "HOST:PORT by which clients find --http, if they do not dial that; the port of a proxy, or a published one"),
			httpHostFlag(""),
			stringFlag("", "raft", "127.0.0.1:7170", "HOST:PORT for nodes and workers"),
			stringFlag("", "raft-advertise", "", "HOST:PORT by which nodes and workers find --raft, if they do not dial that"),
			stringFlag("", "join", "", "whom to join through: HOST:PORT of nodes, dns:NAME:PORT for all addresses of a name, srv:NAME for a service record; the own one allowed"),
			intFlag("", "bootstrap-expect", 0, "how many nodes form the cluster at its first start; without --join 1"),
			workerFlag(""),
			intFlag("", "worker-slots", 0, "tasks to run at the same time; default four per CPU"),
			durationFlag("", "session-ttl", "10s", "how long a silent worker keeps its tasks; at least 2s"),
			boolFlag("", "as-new-disk", "if --dir was copied, or restored from a backup: put it aside, and begin with an empty disk"),
			boolFlag("", "hold-feature-level", "keep the cluster's feature level from being raised while this node is a member"),
			logStoreFlag(""),
			runLogFlag(),
			capabilitiesFlag(""),
			boolFlag("", "insecure", "allow addresses that others can reach, without TLS and tokens"),
			boolFlag("server", "check", "only check flags, files, directory and ports as a start would; start nothing, change nothing"),
			stringFlag("server", "health", "", "only ask the server that runs with these flags: live (it answers) or ready (it can serve)"),
		}, slices.Concat(keys.Flags(trustFlag), keys.PairFlags(trustFlag), upkeep.Flags(upkeep.Kit{Duration: durationFlag, Int: intFlag, Bool: boolFlag}), schedule.Flags(schedule.Kit{String: stringFlag, Int: intFlag, List: listFlag}))...),
		Action: p.server,
	}
}

func (p *program) server(c *cli.Context) error {
	if c.IsSet("health") {
		return askHealth(c)
	}
	config, err := readServer(p, c)
	if err != nil {
		return err
	}
	if c.Bool("check") {
		return checkServer(p, config)
	}
	s, err := supervisor.Open(config.Log)
	if err != nil {
		return usagef(c, "%w", err)
	}
	defer s.Close()
	runs, err := guests.OpenRunLog(c.String("run-log"), config.Log)
	if err != nil {
		return usagef(c, "%w", err)
	}
	defer runs.Close()
	config.Runs = runs
	m, err := member.Open(config.Config)
	if err != nil {
		return exit.With(exit.Start, err)
	}
	// The line comes at once, not when there is a leader, because a script that starts the nodes of a cluster one by one waits for it.
	_ = p.stdout.Printf("ready %s\n", m.URL) // a reader who has closed it needs no line
	return exit.OfMember(serveSupervised(c.Context, p, m, config, s))
}

// sharedConfig reads the flags that a server and the nodes of dev share.
func sharedConfig(c *cli.Context) (config member.Config, err error) {
	if err := keys.HideToken(); err != nil { // whose shell uses the cluster may have it
		return config, err
	}
	config.Slots, config.Metrics = c.Int("worker-slots"), metricsConfig(nil)
	if config.TTL, err = sessionTTL(c); err != nil {
		return config, err
	}
	if config.Hosts, err = readHosts(c); err != nil {
		return config, err
	}
	if config.Worker, err = readWorker(c); err != nil {
		return config, err
	}
	if config.LogStore, err = readLogStore(c); err != nil {
		return config, err
	}
	if config.Maintain, err = upkeep.Read(c); err != nil {
		return config, err
	}
	granted, err := readGrants(c)
	config.Grants = cmp.Or(granted, &grants.Grants{}) // which can be replaced
	return config, err
}

func serverConfig(c *cli.Context) (member.Config, error) {
	config, err := sharedConfig(c)
	if err != nil {
		return config, err
	}
	config.ID, config.Dir, config.HTTP, config.Raft = c.String("id"), c.String("dir"), c.String("http"), c.String("raft")
	config.Join, config.Expect = splitList(c.String("join")), c.Int("bootstrap-expect")
	config.HoldLevel, config.AsNewDisk = c.Bool("hold-feature-level"), c.Bool("as-new-disk")
	for _, required := range []string{"id", "dir"} {
		if c.String(required) == "" {
			return config, usagef(c, "--%s is required", required)
		}
	}
	if err := checkPorts(c); err != nil {
		return config, err
	}
	config.HTTPAs, config.RaftAs = c.String("http-advertise"), c.String("raft-advertise")
	err = errors.Join(ports.CheckJoin(config.Join), ports.CheckAdvertised("raft", config.Raft, config.RaftAs))
	if err == nil && config.HTTPAs != "" {
		err = ports.CheckAdvertised("http", config.HTTP, config.HTTPAs)
	}
	if err != nil {
		return config, usagef(c, "%w", err)
	}
	if config.Slots < 0 || config.Expect < 0 {
		return config, usagef(c, "--worker-slots and --bootstrap-expect must not be negative")
	}
	if !c.IsSet("bootstrap-expect") && len(config.Join) == 0 {
		config.Expect = 1
	}
	config.Backups, err = schedule.Read(c)
	return config, err
}

// checkPorts refuses ports that others can reach and that ask nobody who comes (SPEC A6). Certificates of one's own close the node port; only a
// secret gives tokens, which close the port for clients.
func checkPorts(c *cli.Context) error {
	insecure, secret, own := c.Bool("insecure"), c.String("cluster-secret") != "", c.String("node-cert") != ""
	if insecure && secret {
		return usagef(c, "--insecure means without TLS and tokens, and --cluster-secret brings both: say one of them")
	}
	say := "--cluster-secret, or --insecure"
	ofHTTP := say
	if own {
		ofHTTP = "--cluster-secret beside --node-cert, which gives no tokens, or --insecure"
	}
	err := ports.CheckLoopback("http", c.String("http"), insecure || secret, ofHTTP)
	if err == nil {
		err = ports.CheckLoopback("raft", c.String("raft"), insecure || secret || own, say)
	}
	if err != nil {
		return usagef(c, "%w", err)
	}
	return nil
}

func sessionTTL(c *cli.Context) (time.Duration, error) {
	d, err := durationOf(c, "session-ttl")
	if err != nil {
		return 0, err
	}
	if ttl := time.Duration(d); ttl >= node.MinSessionTTL {
		return ttl, nil
	}
	return 0, usagef(c, "--session-ttl must be at least %v", node.MinSessionTTL)
}

// splitList splits at commas; empty parts are dropped.
func splitList(s string) []string {
	return slices.DeleteFunc(strings.Split(s, ","), func(part string) bool { return part == "" })
}
