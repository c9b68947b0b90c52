// Package metrics exports what a node or a worker measures to Prometheus (SPEC C6). No other package knows the Prometheus library.
// runtime, worker, api and node report events in values of their own (Ended, Compiled, Request). At each scrape they are asked for
// the present state (WatchNode, WatchProcess). What each metric is called and means stands in package table.
package metrics
