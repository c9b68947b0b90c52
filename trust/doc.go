// Package trust proves who is at either end of a connection between nodes and workers: it derives a cluster's authorities from one secret,
// issues certificates in memory, and wraps connections in TLS 1.3 (SPEC A1, A2, A11).
package trust
