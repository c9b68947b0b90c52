// Package arch holds tests of the house: which package may import which, that package task is pure, that files, functions,
// types and packages stay small, that links in the documents lead somewhere, that no test sleeps. They parse the files of
// the module themselves: a test that shells out to `go list` would be served from the test cache.
//
// Every exception is an entry of a table with a reason; an entry that is no longer needed fails, too.
package arch
