package wire

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/taskrt/taskrt/task"
)

// longestByReflection is longest without a thought for what a command is.
func longestByReflection(v reflect.Value) (n int) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			n = longestByReflection(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("cbor") != "-" {
				n = max(n, longestByReflection(v.Field(i)))
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return 0 // a byte string
		}
		n = v.Len()
		for i := range v.Len() {
			n = max(n, longestByReflection(v.Index(i)))
		}
	}
	return n
}

// TestEveryCommand: every number has its command and every command its number, and the longest list of each is found, however deep.
func TestEveryCommand(t *testing.T) {
	kinds, found := 0, 0
	for kind, typ := range everyCommand {
		kinds++
		if got, err := kindOf(reflect.Zero(typ).Interface().(task.Command)); got != kind || err != nil {
			t.Errorf("%v has the number %d, %v, and is read for %d", typ, got, err, kind)
		}
		for seed := range uint64(200) {
			v := reflect.New(typ).Elem()
			random(rand.New(rand.NewPCG(seed, kind)), v)
			c := v.Interface().(task.Command)
			want := longestByReflection(v)
			if got := longest(c); got != want {
				t.Fatalf("%s: the longest list has %d elements, found %d", fmt.Sprintf("%+v", c), want, got)
			}
			if want > 0 {
				found++
			}
		}
	}
	if kinds < 40 || found < 1000 {
		t.Errorf("%d commands, %d with a list: the test has lost its point", kinds, found)
	}
}
