// Package wiretest makes values for tests that compare encodings written by hand with those of the CBOR library.
package wiretest

import (
	"math"
	"math/rand/v2"
	"reflect"
)

// Random sets v to anything. It prefers empty values and the edges of encodings. text makes strings of about length bytes.
func Random(r *rand.Rand, v reflect.Value, text func(length int) string) {
	if r.IntN(3) == 0 {
		return
	}
	edges := []uint64{1, 23, 24, math.MaxUint8, math.MaxUint8 + 1, math.MaxUint16, math.MaxUint16 + 1, math.MaxUint32, math.MaxUint32 + 1, math.MaxInt64, math.MaxUint64, r.Uint64()}
	number := edges[r.IntN(len(edges))]
	length := []int{0, 1, 2, 23, 24, 36, 255, 256, 300}[r.IntN(9)]
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		Random(r, v.Elem(), text)
	case reflect.Struct:
		for i := range v.NumField() {
			Random(r, v.Field(i), text)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			length = min(length, 25)
		}
		v.Set(reflect.MakeSlice(v.Type(), length, length))
		for i := range length {
			Random(r, v.Index(i), text)
		}
	case reflect.String:
		v.SetString(text(length))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int8, reflect.Int32, reflect.Int64:
		v.SetInt(int64(number))
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(number)
	default:
		panic("random: " + v.Kind().String())
	}
}
