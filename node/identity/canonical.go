package identity

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/gowebpki/jcs"
	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/internal/jsontext"
	"github.com/taskrt/taskrt/task"
)

// Canonical returns the JSON that a deterministic ID is computed from (SPEC I2): the canonical form (RFC 8785) of the
// params, or of the array of the values that the JSON pointers pick. Params that could mean two things are refused with
// a 422.
func Canonical(p task.Payload, pointers []string) ([]byte, error) {
	data := []byte("null")
	switch p.Encoding {
	case task.JSON:
		data = p.Data
	case task.Bytes:
		data = []byte(`"` + base64.StdEncoding.EncodeToString(p.Data) + `"`)
	}
	if err := checkNumbers(data); err != nil {
		return nil, api.FieldError(api.CodeInvalidParams, "params", "%v", err)
	}
	if jsontext.LoneSurrogate(data) { // jcs would say "Unexpected EOF reached"
		return nil, api.FieldError(api.CodeInvalidParams, "params", "no ID can be computed: they have a lone surrogate: half of a character")
	}
	canonical, err := jcs.Transform(data) // it refuses duplicate keys and invalid UTF-8
	if err != nil {
		return nil, api.FieldError(api.CodeInvalidParams, "params", "no ID can be computed: %v", err)
	}
	if len(pointers) == 0 {
		return canonical, nil
	}
	picked := make([][]byte, len(pointers))
	for i, ptr := range pointers {
		if picked[i], err = pick(canonical, ptr); err != nil {
			return nil, api.FieldError(api.CodeInvalidParams, "params"+ptr, "the behavior computes IDs from it: %v", err)
		}
	}
	return jsonArray(picked), nil
}

func jsonArray(values [][]byte) []byte {
	return append(append([]byte("["), bytes.Join(values, []byte(","))...), ']')
}

// checkNumbers refuses numbers that a double cannot carry: two such numbers would silently become one, and two tasks
// with them.
func checkNumbers(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("not JSON: %w", err)
		}
		if n, ok := tok.(json.Number); ok && !exact(string(n)) {
			return fmt.Errorf("the number %.40s does not fit an IEEE double", n)
		}
	}
}

// exact reports whether a JSON number survives the way through a double and back as the same decimal number: 0.1 does,
// 9007199254740993 and 1e400 do not.
func exact(s string) bool {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return false
	}
	d1, e1 := decimal(s)
	d2, e2 := decimal(strconv.FormatFloat(f, 'e', -1, 64))
	return d1 == d2 && e1 == e2
}

// decimal writes a JSON number, without its sign, as 0.DIGITS × 10^exp. Zero is "", 0.
func decimal(s string) (digits string, exp int64) {
	s = strings.TrimPrefix(s, "-")
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		e, err := strconv.ParseInt(s[i+1:], 10, 64)
		if err != nil {
			return s, 0 // no double has such an exponent: s differs from every normal form
		}
		exp, s = e, s[:i]
	}
	whole, frac, _ := strings.Cut(s, ".")
	digits = whole + frac
	exp += int64(len(whole))
	n := len(digits)
	digits = strings.TrimLeft(digits, "0")
	exp -= int64(n - len(digits))
	digits = strings.TrimRight(digits, "0")
	if digits == "" {
		return "", 0
	}
	return digits, exp
}
