// Package wire encodes what task values look like outside memory: log entries, results on the node-to-node port,
// snapshot records. CBOR (RFC 8949) with integer keys: compact, versioned, self-describing; core deterministic.
//
// TO BE IMPLEMENTED by the owner of package task; signatures are the contract:
//
//	func EncodeEntry(h task.Header, ps []task.Proposal) ([]byte, error)
//	func DecodeEntry(b []byte) (task.Header, []task.Proposal, error) // ErrUnknownCommand stops the node (SPEC C4)
//	func EncodeProposals(ps []task.Proposal) ([]byte, error)          // forwarding to the leader, without a header
//	func DecodeProposals(b []byte) ([]task.Proposal, error)
//	func EncodeResults(rs []task.Result) ([]byte, error)
//	func DecodeResults(b []byte) ([]task.Result, error)
//	func WriteSnapshot(w io.Writer, f *task.Frozen) error
//	func ReadSnapshot(r io.Reader) (*task.Machine, error)
package wire
