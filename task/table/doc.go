// Package table has the containers for what package task keeps in millions. The garbage collector need not scan them, they are frozen without
// a copy, and they find the first element without looking at the others. The package knows nothing of tasks. Like package task it is pure: its
// answers depend only on the calls before.
package table
