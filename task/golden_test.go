package task_test

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/wire"
)

// sample fills v by its path: another field of the struct changes nothing of what the others get.
func sample(v reflect.Value, path string) {
	h := fnv.New32a()
	_, _ = h.Write([]byte(path))
	number := 1 + h.Sum32()%9
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		sample(v.Elem(), path)
	case reflect.Struct:
		for i := range v.NumField() {
			sample(v.Field(i), path+"."+v.Type().Field(i).Name)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(path))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			sample(v.Index(i), fmt.Sprintf("%s%d", path, i))
		}
	case reflect.String:
		v.SetString(path)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8:
		v.SetUint(uint64(1 + number%3))
	case reflect.Uint64:
		v.SetUint(uint64(number) * 1001)
	default:
		v.SetInt(int64(number))
		if v.Kind() == reflect.Int64 {
			v.SetInt(int64(number) * 1_000_003)
		}
	}
}

// forms describes a task in all forms that are contract: which bits say what it has, its hash, its bytes.
func forms(t *testing.T, name string, x *task.Task) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: bits", name)
	has := task.FieldsOf(x)
	for bit := range 64 {
		if has&(1<<bit) != 0 {
			fmt.Fprintf(&b, " %d", bit)
		}
	}
	encoded, err := wire.AppendTask(nil, x)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&b, ", hash %016x\n", task.HashTask(x))
	for len(encoded) > 0 {
		n := min(len(encoded), 60)
		fmt.Fprintf(&b, "  %x\n", encoded[:n])
		encoded = encoded[n:]
	}
	return b.String()
}

// numbered returns the fields of a Task in the order of their CBOR numbers; those without one come first.
func numbered() []reflect.StructField {
	number := func(f reflect.StructField) int {
		text, _, _ := strings.Cut(f.Tag.Get("cbor"), ",")
		n, _ := strconv.Atoi(text)
		return n
	}
	fields := reflect.VisibleFields(reflect.TypeFor[task.Task]())
	slices.SortStableFunc(fields, func(a, b reflect.StructField) int { return number(a) - number(b) })
	return fields
}

// TestTaskGolden holds the digest and the bytes of a Task to what they were: of each field alone, and of all together (SPEC C4). The
// line of the exported form in the same file is package archive's. A new field adds to the file; what stands there already changes only
// in the task with every field.
func TestTaskGolden(t *testing.T) {
	name := filepath.Join("testdata", "task.golden")
	was, err := os.ReadFile(name)
	if err != nil && !*rewrite {
		t.Fatal(err)
	}
	const exported = `{"task":`
	var got, archive bytes.Buffer
	for line := range bytes.Lines(was) {
		if bytes.HasPrefix(line, []byte(exported)) {
			archive.Write(line)
		}
	}
	if archive.Len() == 0 {
		t.Errorf("%s has no exported form: package archive writes it, go test -p 1", name)
	}
	var all task.Task
	for _, field := range numbered() {
		var one task.Task
		sample(reflect.ValueOf(&one).Elem().FieldByIndex(field.Index), field.Name)
		got.WriteString(forms(t, field.Name, &one))
		sample(reflect.ValueOf(&all).Elem().FieldByIndex(field.Index), field.Name)
	}
	got.WriteString(forms(t, "all", &all))
	got.Write(archive.Bytes())
	if *rewrite {
		if err := os.WriteFile(name, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(got.Bytes(), was) {
		t.Errorf("a Task has another form than before. For a new field: -rewrite, and see that nothing else has changed\n%s", got.Bytes())
	}
}
