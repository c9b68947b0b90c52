// Package native lets a worker run maintenance as it runs a module: with params, progress, signals and an outcome. It
// also has what every member shows to a run: its state and its disk.
package native
