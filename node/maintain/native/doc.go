// Package native lets a worker run maintenance as it runs a module: with params, progress, signals and an outcome. It also
// has the two ends of a run's world that every member has: its state and its disk.
package native
