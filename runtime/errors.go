package runtime

import "fmt"

// UploadCode says what is wrong with an uploaded file. Codes are stable: the API shows them.
type UploadCode string

// The codes, in the order in which a file is checked.
const (
	TooLarge             UploadCode = "too_large"
	NotWasm              UploadCode = "not_wasm"
	ComponentBinary      UploadCode = "component_binary"
	Truncated            UploadCode = "truncated"
	Malformed            UploadCode = "malformed"
	ABIVersion           UploadCode = "abi_version"
	BadImport            UploadCode = "bad_import"
	BadExport            UploadCode = "bad_export"
	MissingExport        UploadCode = "missing_export"
	BadMemory            UploadCode = "bad_memory"
	BadSegment           UploadCode = "bad_segment"
	MemoryLimit          UploadCode = "memory_limit"
	TooComplex           UploadCode = "too_complex"
	Unsupported          UploadCode = "unsupported_feature"
	BadManifest          UploadCode = "bad_manifest"
	UnknownCapability    UploadCode = "unknown_capability"
	CapabilityNotGranted UploadCode = "capability_not_granted"
	CompileFailed        UploadCode = "compile_failed"
	DescribeFailed       UploadCode = "describe_failed"
	TrialFailed          UploadCode = "trial_failed"
)

// UploadError refuses a module.
type UploadError struct {
	Code    UploadCode
	Message string // one sentence for people
	Field   string // where: a path in the manifest ("behaviors[0].retry.max_attempts"), or a part of the module ("import taskrt_v1.len")
	Limit   int64  // the limit that is exceeded, if one is
}

func (e *UploadError) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("%s: %s", e.Code, e.Message)
	}
	return fmt.Sprintf("%s: %s: %s", e.Code, e.Field, e.Message)
}
