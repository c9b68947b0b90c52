package codec

import (
	"net/http"
	"strings"
)

// PrefersMinimal reads the preference "return". Other preferences mean nothing here. If "return" is given twice, the first
// counts (RFC 7240, section 2).
func PrefersMinimal(h http.Header) bool {
	for _, field := range h.Values(PreferHeader) {
		for preference := range strings.SplitSeq(field, ",") {
			preference, _, _ = strings.Cut(preference, ";")
			name, value, _ := strings.Cut(preference, "=")
			if strings.EqualFold(strings.TrimSpace(name), "return") {
				return strings.EqualFold(strings.Trim(strings.TrimSpace(value), `"`), "minimal")
			}
		}
	}
	return false
}
