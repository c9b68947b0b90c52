package api

import "fmt"

// Error is an error of the service: RFC 9457 problem+json on the wire (SPEC H3). Code is stable.
type Error struct {
	Code    string `json:"code"`
	Status  int    `json:"status"` // HTTP status; from the table in this package
	Title   string `json:"title,omitempty"`
	Detail  string `json:"detail,omitempty"`
	Field   string `json:"field,omitempty"`       // the field of the request that is wrong
	Limit   int64  `json:"limit,omitempty"`       // the limit that was passed
	RetryMS int64  `json:"retry_after,omitempty"` // ms; sent as Retry-After too
}

func (e *Error) Error() string {
	if e.Field != "" {
		return fmt.Sprintf("%s: %s: %s", e.Code, e.Field, e.Detail)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Detail)
}
