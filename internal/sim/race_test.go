//go:build race

package sim_test

// raceDetector makes everything ten times slower and finds nothing in one goroutine. So fewer entries will do.
const raceDetector = true
