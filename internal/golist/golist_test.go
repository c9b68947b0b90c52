package golist_test

import (
	"testing"

	"github.com/taskrt/taskrt/internal/golist"
)

// TestPackages: the packages come in the order of go list, and its errors are errors.
func TestPackages(t *testing.T) {
	t.Parallel()
	type named struct{ ImportPath string }
	all, err := golist.Packages[named](".", "-json=ImportPath", "strings", "errors")
	if err != nil || len(all) != 2 || all[0].ImportPath != "strings" || all[1].ImportPath != "errors" {
		t.Errorf("%+v, %v", all, err)
	}
	if all, err := golist.Packages[named](".", "-json=ImportPath", "./nosuch"); err == nil {
		t.Errorf("no such package: %+v", all)
	}
	if all, err := golist.Packages[[]int](".", "-json=ImportPath", "strings"); err == nil {
		t.Errorf("not of this form: %v", all)
	}
}
