package sdk

import (
	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/plugins/sdk/go/tinyjson"
)

// BlobName returns the name in {"$blob": "sha256:…"}, for Context.Blob; false if v is anything else. With sdkjson, a BlobRef
// does the same.
func BlobName(v tinyjson.Value) (name string, ok bool) {
	member, _ := v.Get(abi.BlobMember)
	name, ok = member.Str()
	return name, ok && len(v.Keys()) == 1 && len(name) == abi.BlobName && name[:len(abi.BlobPrefix)] == abi.BlobPrefix
}
