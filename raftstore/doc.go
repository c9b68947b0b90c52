// Package raftstore replicates a task.Machine: it proposes commands (group commit, forwarding to the leader in exactly
// one place, safe resending), reads linearizably, hands out events, snapshots and restores, and manages membership.
// It is a thin shell over hashicorp/raft; DESIGN.md says what it guards against.
//
// TO BE IMPLEMENTED; signatures are the contract:
//
//	type Config struct {
//		ID        string          // node ID: the identity, not the address (SPEC C1)
//		Dir       string          // raft.db, snapshots/, node.json (0700)
//		Addr      string          // advertised HOST:PORT of the node-to-node port
//		HTTP      string          // advertised HTTP address, told to peers (cluster status)
//		Join      []string        // addresses to join through; own one allowed
//		BootstrapExpect int       // nodes that form the first cluster together; 1: alone
//		Net       Network         // listens and dials; mux over TCP in production, memnet in tests
//		Clock     Clock           // wall and monotonic; injected so that tests can make it jump
//		Logger    *slog.Logger
//		Raft timeouts, CommitTimeout, SnapshotBytes, TrailingBytes, PersistBytesPerSecond, DiskTimeout … with defaults
//		OnFatal   func(error)     // digest differs, unknown command, disk stalled: the node must stop (default: panic)
//	}
//
//	func Open(Config) (*Store, error)       // starts; joins or bootstraps in the background, retrying
//	func (s *Store) Propose(ctx, ...task.Command) ([]task.Result, error)
//	     // from any node; one result per command, each command exactly once (SPEC H4); groups with other callers'.
//	     // error: ErrNoLeader (nothing was proposed), ErrOutcomeUnknown, ErrOverloaded (429), ctx error => outcome unknown if sent
//	func (s *Store) ProposeLocal(ctx, ...task.Command) ([]task.Result, error)
//	     // only if this node leads (leader loop: Assign, Tick, RenewSession); no Origin; ErrNotLeader
//	func (s *Store) Read(ctx, func(*task.Machine)) error      // linearizable: shared ReadIndex (SPEC W4); short functions, no blocking
//	func (s *Store) Local(func(*task.Machine))                // stale
//	func (s *Store) WaitIndex(ctx, index uint64) error        // until applied here
//	func (s *Store) Subscribe(buffer int) *Subscription       // events of this node's own machine, in order
//	     // Subscription{ C <-chan []task.Event; Lagged() bool; Close() }: a slow reader never blocks Apply: it is cut
//	     // off (C closed, Lagged true) and subscribes again and re-reads state.
//	func (s *Store) Leadership() <-chan Leadership            // {Leading bool, Term uint64}; Leading only after the barrier; latest value wins, never blocks raft
//	func (s *Store) Leader() (id, addr string)                // "" if unknown
//	func (s *Store) Status() Status                           // for /v1/cluster and readyz: role, term, applied, last contact, members, digest, disk health
//	func (s *Store) Transfer(ctx) error
//	func (s *Store) Close(ctx) error                          // transfers leadership first if it leads; snapshot on close
package raftstore
