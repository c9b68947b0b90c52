package worker

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/taskrt/taskrt/abi"
)

// TestInfoIsTheLibrary: the document equals the one that encoding/json makes. This holds for fields that are added
// later, too.
func TestInfoIsTheLibrary(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	texts := []string{"", "a", "default", "\x00", "\x1f", " ", "~", "\x7f", `"`, `\`, "<", ">", "&", "é", "\u2028", "\xff", "a\nb"}
	numbers := []int64{0, 1, -1, math.MaxInt64, math.MinInt64}
	for range 5000 {
		var info abi.TaskInfo
		for _, f := range reflect.ValueOf(&info).Elem().Fields() {
			switch f.Kind() {
			case reflect.String:
				f.SetString(texts[r.IntN(len(texts))] + texts[r.IntN(len(texts))])
			case reflect.Map:
				m := map[string]string{}
				for range r.IntN(4) {
					m[texts[r.IntN(len(texts))]] = texts[r.IntN(len(texts))]
				}
				f.Set(reflect.ValueOf(m))
			case reflect.Uint64:
				f.SetUint(uint64(numbers[r.IntN(len(numbers))]))
			default:
				f.SetInt(numbers[r.IntN(len(numbers))])
			}
		}
		want, err := json.Marshal(info)
		if err != nil {
			t.Fatal(err)
		}
		if got := appendInfo(nil, &info); string(got) != string(want) {
			t.Fatalf("%+v\ngot  %s\nwant %s", info, got, want)
		}
	}
}
