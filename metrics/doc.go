// Package metrics exports what a node or a worker measures to Prometheus (SPEC C6). It alone knows that library: runtime,
// worker, api and node tell it in values of their own what has happened (Ended, Compiled, Request), or are asked at each scrape
// what is (Node, Process). docs/metrics.md lists every metric; a test keeps the list true.
package metrics
