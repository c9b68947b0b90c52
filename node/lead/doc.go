// Package lead is what a node does while it leads: it takes workers' streams, assigns tasks, carries reports, lets
// sessions expire and time pass. The next leader needs nothing of it, because everything is derived from the machine.
// DESIGN.md says what it guards against.
package lead
