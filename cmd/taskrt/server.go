package main

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/cmd/taskrt/internal/guests"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/keys"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/ports"
	"github.com/taskrt/taskrt/internal/mux"
	"github.com/taskrt/taskrt/node"
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
		}, slices.Concat(keys.Flags(trustFlag), keys.PairFlags(trustFlag), maintenanceFlags())...),
		Action: p.server,
	}
}

func (p *program) server(c *cli.Context) error {
	logging, err := readLogSettings(c, c.String("log-level"))
	if err != nil {
		return err
	}
	log := p.openLog(logging)
	config, err := serverConfig(c)
	if err != nil {
		return err
	}
	config.log, config.logSettings = log, logging
	if config.keys, err = keys.Open(c, mux.Node, config.id, log); err != nil {
		return keyError(c, err)
	}
	if config.pair, err = keys.OpenPair(c); err != nil {
		return keyError(c, err)
	}
	runs, err := guests.OpenRunLog(c.String("run-log"), log)
	if err != nil {
		return usagef(c, "%w", err)
	}
	defer runs.Close()
	config.runs = runs
	m, err := openMember(config)
	if err != nil {
		return &exitError{exitStart, err}
	}
	// The line comes at once, not when there is a leader: whoever starts the nodes of a cluster one by one waits for
	// it.
	_ = p.stdout.Printf("ready %s\n", m.url) // a reader who has closed it needs no line
	return stopped(m.run(c.Context))
}

// sharedConfig reads the flags that a server and the nodes of dev share.
func sharedConfig(c *cli.Context) (config memberConfig, err error) {
	if err := keys.HideToken(); err != nil { // whose shell uses the cluster may have it
		return config, err
	}
	config.slots = c.Int("worker-slots")
	if config.ttl, err = sessionTTL(c); err != nil {
		return config, err
	}
	if config.hosts, err = readHosts(c); err != nil {
		return config, err
	}
	if config.worker, err = readWorker(c); err != nil {
		return config, err
	}
	if config.logStore, err = readLogStore(c); err != nil {
		return config, err
	}
	if config.maintain, err = maintenanceConfig(c); err != nil {
		return config, err
	}
	config.grants, err = readGrants(c)
	return config, err
}

func serverConfig(c *cli.Context) (memberConfig, error) {
	config, err := sharedConfig(c)
	if err != nil {
		return config, err
	}
	config.id, config.dir, config.http, config.raft = c.String("id"), c.String("dir"), c.String("http"), c.String("raft")
	config.join, config.expect = splitList(c.String("join")), c.Int("bootstrap-expect")
	config.holdLevel, config.asNewDisk = c.Bool("hold-feature-level"), c.Bool("as-new-disk")
	for _, required := range []string{"id", "dir"} {
		if c.String(required) == "" {
			return config, usagef(c, "--%s is required", required)
		}
	}
	if err := checkPorts(c); err != nil {
		return config, err
	}
	config.httpAs, config.raftAs = c.String("http-advertise"), c.String("raft-advertise")
	err = errors.Join(ports.CheckJoin(config.join), ports.CheckAdvertised("raft", config.raft, config.raftAs))
	if err == nil && config.httpAs != "" {
		err = ports.CheckAdvertised("http", config.http, config.httpAs)
	}
	if err != nil {
		return config, usagef(c, "%w", err)
	}
	if config.slots < 0 || config.expect < 0 {
		return config, usagef(c, "--worker-slots and --bootstrap-expect must not be negative")
	}
	if !c.IsSet("bootstrap-expect") && len(config.join) == 0 {
		config.expect = 1
	}
	return config, nil
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
