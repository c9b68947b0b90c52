// Package traces exports OpenTelemetry traces (SPEC U2). No other package knows its library. server, service, worker and node report what they did in
// values of their own, and only for tasks whose traces are sampled. Without its variables in the environment there are no Traces, and nobody asks for
// such values.
package traces
