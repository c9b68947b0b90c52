// Package blob keeps content-addressed files on a node's disk and fetches what it lacks from peers by digest, verified.
// Modules live here; large payloads will. Bytes never enter the Raft log (SPEC B3, ARCHITECTURE section 2).
//
// TO BE IMPLEMENTED by the owner of node; signatures are the contract:
//
//	func Open(Config{Dir, Net mux.Network, Logger}) (*Store, error)
//	func (*Store) Serve() / Close()                                   // answers peers on mux.Blob: get, put, has
//	func (*Store) Put(ctx, data []byte) (digest string, err error)    // local: temp file, fsync, rename, fsync dir
//	func (*Store) PutAll(ctx, data []byte, peers []string, need int) (digest string, err error) // durable on ≥ need nodes, self included
//	func (*Store) Get(ctx, digest string, peers []string) ([]byte, error) // local, else from peers; verified; kept
//	func (*Store) Has(digest string) bool
package blob
