//go:build race

package sim_test

// raceDetector is ten times slower, and finds nothing in one goroutine: fewer entries will do.
const raceDetector = true
