//go:build race

package clustertest

// raceDetector is ten times slower: smaller numbers will do.
const raceDetector = true
