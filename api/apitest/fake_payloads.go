package apitest

import (
	"encoding/json"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/task"
)

// whole returns a payload that stands in field with all of its bytes: those of the blob that it refers to, if it does so as a
// whole. f.mu is held.
func (f *Fake) whole(field string, p task.Payload) (task.Payload, error) {
	if p.Encoding != task.JSON {
		return p, nil
	}
	if digest, ok := task.BlobRef(p.Data); ok {
		content, err := f.stored(field, digest)
		if err != nil {
			return p, err
		}
		if len(content) > api.MaxPayload {
			return p, api.LimitError(field, api.MaxPayload, "a blob of %d bytes, at most %d", len(content), api.MaxPayload)
		}
		p = task.Payload{Encoding: task.Bytes, Data: content, Blobs: &task.Blobs{Content: digest, Size: int64(len(content))}}
		if !api.ValidJSON(content) {
			return p, nil
		}
		p.Encoding = task.JSON
	}
	return f.naming(field, p)
}

// naming notes the blobs that a payload names inside its JSON. f.mu is held.
func (f *Fake) naming(field string, p task.Payload) (task.Payload, error) {
	named := task.BlobsNamed(p.Data)
	for _, digest := range named {
		if _, err := f.stored(field, digest); err != nil {
			return p, err
		}
	}
	if named != nil {
		if p.Blobs == nil {
			p.Blobs = &task.Blobs{}
		}
		p.Blobs.Named = named
	}
	return p, nil
}

func (f *Fake) stored(field, digest string) ([]byte, error) {
	if f.showBlob(digest) == nil {
		return nil, api.FieldError(api.CodeBlobGone, field, "the blob sha256:%s is not stored", digest)
	}
	return f.wasm[digest], nil
}

// packed returns a whole payload as a command carries it. f.mu is held.
func (f *Fake) packed(p task.Payload) (task.Payload, error) {
	switch {
	case p.Blobs != nil && p.Blobs.Content != "":
		p.Data = nil
	case len(p.Data) > api.MaxInline:
		digest := digest(p.Data)
		return p.InBlob(digest), f.keepBlob(digest, p.Data)
	}
	return p, nil
}

// checkpoint is one as a command carries it, nil for none. f.mu is held.
func (f *Fake) checkpoint(text json.RawMessage, raw []byte) (*task.Payload, error) {
	p, err := f.whole("checkpoint", payload(text, raw))
	if err == nil {
		p, err = f.packed(p)
	}
	if err != nil || p.Encoding == task.None {
		return nil, err
	}
	return &p, nil
}
