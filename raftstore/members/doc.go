// Package members knows who belongs to a cluster, where they live, and who leads them: it keeps the addresses, founds a cluster or joins
// one, raises the feature level when all builds know the next one, and lets a follower succeed a leader whose process
// has ended. DESIGN.md says how.
//
// It asks raft and other nodes, and knows nothing of what is replicated.
package members
