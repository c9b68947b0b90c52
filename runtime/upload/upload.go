// Package upload says why an uploaded module, a manifest or the definition of an external behavior is refused (SPEC B2, B7).
// Whoever checks a part of it returns an Error; the API shows it.
package upload

import "fmt"

// Code says what is wrong with an upload. Codes are stable: the API shows them.
type Code string

// The codes, in the order in which a file is checked.
const (
	TooLarge             Code = "too_large"
	NotWasm              Code = "not_wasm"
	ComponentBinary      Code = "component_binary"
	Truncated            Code = "truncated"
	Malformed            Code = "malformed"
	ABIVersion           Code = "abi_version"
	BadImport            Code = "bad_import"
	BadExport            Code = "bad_export"
	MissingExport        Code = "missing_export"
	BadMemory            Code = "bad_memory"
	BadSegment           Code = "bad_segment"
	MemoryLimit          Code = "memory_limit"
	TooComplex           Code = "too_complex"
	Unsupported          Code = "unsupported_feature"
	BadManifest          Code = "bad_manifest"
	UnknownCapability    Code = "unknown_capability"
	CapabilityNotGranted Code = "capability_not_granted"
	CompileFailed        Code = "compile_failed"
	DescribeFailed       Code = "describe_failed"
	TrialFailed          Code = "trial_failed"
)

// Error refuses an upload.
type Error struct {
	Code    Code
	Message string // one sentence for people
	Field   string // where: a path in the manifest ("behaviors[0].retry.max_attempts"), or a part of the module ("import taskrt_v1.len")
	Limit   int64  // the limit that is exceeded, if one is
}

func (e *Error) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("%s: %s", e.Code, e.Message)
	}
	return fmt.Sprintf("%s: %s: %s", e.Code, e.Field, e.Message)
}

// Oversized refuses a file for its size in bytes.
func Oversized(size, limit int64) *Error {
	return &Error{Code: TooLarge, Limit: limit, Message: fmt.Sprintf("the file has %d bytes, more than %d", size, limit)}
}

// Errorf makes an Error about a field; "": about all of it.
func Errorf(code Code, field, format string, args ...any) *Error {
	return &Error{Code: code, Field: field, Message: fmt.Sprintf(format, args...)}
}
