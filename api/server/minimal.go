package server

import (
	"net/http"
	"strings"

	"github.com/taskrt/taskrt/api/internal/codec"
)

// prefersMinimal reads the preference "return". Other preferences mean nothing here. If "return" is given twice, the first
// counts (RFC 7240, section 2).
func prefersMinimal(h http.Header) bool {
	for _, field := range h.Values(codec.PreferHeader) {
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
