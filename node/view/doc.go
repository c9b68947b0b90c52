// Package view turns records of the replicated state into what the API shows: tasks, operations, workers, and why a
// command was rejected. It reads a machine that its caller holds, and changes nothing. DESIGN.md says what is not in a
// record, and is made when somebody looks.
package view
