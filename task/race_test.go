//go:build race

package task_test

// raceEnabled makes exhaustive tests smaller: they are sequential, and ten times slower under the race detector.
const raceEnabled = true
