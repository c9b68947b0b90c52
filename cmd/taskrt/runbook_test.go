package main

import (
	"os"
	"regexp"
	"testing"
)

// TestRunbookCommands: each command of docs/operate.md is one of the product's. That its messages are the product's, internal/arch tests.
func TestRunbookCommands(t *testing.T) {
	page, err := os.ReadFile("../../docs/operate.md")
	if err != nil {
		t.Fatal(err)
	}
	app, commands := testApp(), 0
	for _, m := range regexp.MustCompile(`taskrt ([a-z]+) ([a-z-]+)`).FindAllStringSubmatch(string(page), -1) {
		c := app.Command(m[1])
		if c == nil {
			continue // a word of a sentence
		}
		if commands++; len(c.Subcommands) > 0 && c.Command(m[2]) == nil {
			t.Errorf("there is no command %q", m[0])
		}
	}
	if commands < 20 {
		t.Errorf("the page names %d commands", commands)
	}
}
