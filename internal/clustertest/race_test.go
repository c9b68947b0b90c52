//go:build race

package clustertest

// raceDetector makes everything ten times slower, so smaller numbers will do.
const raceDetector = true
