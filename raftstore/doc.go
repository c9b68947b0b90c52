// Package raftstore replicates a task.Machine: it proposes commands (group commit, forwarding to the leader in exactly
// one place, safe resending), reads linearizably, hands out events, snapshots and restores. It wires the rooms below
// it: guard stands between it and hashicorp/raft, members knows who belongs to the cluster, rpc carries requests
// between nodes.
//
//	store, err := raftstore.Open(raftstore.Config{ID: "n1", Dir: dir, Addr: addr, Join: addrs, BootstrapExpect: 3, Net: m})
//	results, err := store.Propose(ctx, task.Submit{…})       // from any node, each command exactly once
//	err = store.Read(ctx, func(m *task.Machine) { … })       // linearizable, from any node
//	sub := store.Subscribe(1024)                             // events of this node's own machine
//	for l := range store.Leadership() { … }                  // the leader's loop: ProposeLocal
//	err = store.Close(ctx)                                   // leadership moves on first
package raftstore
