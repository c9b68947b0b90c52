package main

// mutants is the list; keep one line of reason each.
var mutants = []mutant{}
