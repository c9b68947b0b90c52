// Package trust proves who is at either end of a connection between nodes and workers. To clients it proves that they reach their cluster. It derives
// authorities from one secret, issues certificates in memory, and makes connections TLS 1.3 (SPEC A1, A2, A3, A11).
package trust
