// Package lead is what a node does while it leads: it takes workers' streams, assigns tasks, carries reports, lets
// sessions expire and time pass. Nothing of it is needed by the next leader: all is derived from the machine. DESIGN.md
// says what it guards against.
package lead
