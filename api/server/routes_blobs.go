package server

import (
	"net/http"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/api/internal/codec"
)

// blobRoutes are the routes of blobs (SPEC H3). Blobs belong to no namespace: equal bytes are one blob.
func blobRoutes() []route {
	const get, post = http.MethodGet, http.MethodPost
	const one = "/v1/blobs/{digest}"
	file := []media{{name: codec.BytesMedia, doc: "The bytes."}}
	return []route{
		{
			method: post, path: "/v1/blobs", id: "putBlob", needs: somewhere(auth.PutFiles), serve: (*handler).putBlob,
			summary: "Store a file; the answer comes when a majority of the nodes has it on disk. Storing it again does no harm. An Idempotency-Key means nothing here.",
			query:   []param{{name: "digest", doc: "What the file must have: sha256: and 64 hex digits. Default: whatever it is."}},
			body:    []media{{name: codec.BytesMedia, doc: "The file."}},
			answers: []success{ok(codec.BlobAnswer{})}, errors: []string{api.CodeDigestMismatch, api.CodeStorageFull},
		},
		{
			method: get, path: one, id: "getBlob", needs: somewhere(auth.SeeFiles), serve: (*handler).getBlob,
			summary: "The bytes of a file. HEAD tells its size.",
			header: []param{
				{name: "Range", doc: "RFC 9110: which part is wanted."},
				{name: "If-Range", doc: "An ETag: the part only of that file."},
				{name: "If-None-Match", doc: "ETags: 304 for a file that the client has."},
				{name: "If-Match", doc: "ETags: 412 for another file."},
			},
			answers: []success{
				{http.StatusOK, "The whole file. The ETag is its digest.", file},
				{http.StatusPartialContent, "The part that Range asks for.", append(file, media{name: "multipart/byteranges", doc: "Several parts."})},
				{http.StatusNotModified, "The client has it.", nil},
			},
			errors: []string{api.CodeBlobNotFound, api.CodeNoRange, api.CodePrecondition, api.CodeStorageFull},
		},
		{
			method: get, path: one + "/info", id: "getBlobInfo", needs: somewhere(auth.SeeFiles), serve: (*handler).getBlobInfo,
			summary: "A file's size, and how many records need it.",
			answers: []success{ok(codec.BlobAnswer{})}, errors: []string{api.CodeBlobNotFound},
		},
	}
}
