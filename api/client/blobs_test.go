package client_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/apitest"
	"github.com/taskrt/taskrt/api/client"
)

// breaking is a Service whose blobs break off.
type breaking struct {
	*apitest.Fake
	mu    sync.Mutex
	after int64 // bytes of each answer
	froms []int64
}

func (b *breaking) BlobContent(ctx context.Context, r api.BlobRange) (*api.BlobContent, error) {
	c, err := b.Fake.BlobContent(ctx, r)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.froms = append(b.froms, r.From)
	if err == nil && b.after > 0 {
		c.Body = io.NopCloser(io.MultiReader(io.LimitReader(c.Body, b.after), brokenReader{}))
	}
	return c, err
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// TestDownloadGoesOn: a download that breaks off goes on from where it stands; half a file never looks like a whole one.
func TestDownloadGoesOn(t *testing.T) {
	data := make([]byte, 300_000)
	for i := range data {
		data[i] = byte(i * 7 >> 3)
	}
	b := &breaking{Fake: apitest.NewFake()}
	t.Cleanup(b.Close)
	if _, err := b.PutBlob(t.Context(), api.PutBlobRequest{Body: bytes.NewReader(data), Size: -1}); err != nil {
		t.Fatal(err)
	}
	c := apitest.OverHTTP(t, b)
	read := func(r api.BlobRange) ([]byte, error) {
		content, err := c.BlobContent(t.Context(), r)
		if err != nil {
			return nil, err
		}
		defer content.Body.Close()
		return io.ReadAll(content.Body)
	}
	b.after = 128 << 10
	got, err := read(api.BlobRange{Digest: digestOf(data), Length: -1})
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if len(b.froms) < 3 {
		t.Errorf("it did not break off: %v", b.froms)
	}
	if got, err := read(api.BlobRange{Digest: digestOf(data), From: 5, Length: 250_000}); err != nil || !bytes.Equal(got, data[5:250_005]) {
		t.Errorf("a range: %d bytes, %v", len(got), err)
	}
	b.after = 1 // fewer bytes than the server hands on
	if got, err := read(api.BlobRange{Digest: digestOf(data), From: 1, Length: -1}); err == nil {
		t.Errorf("%d bytes and no error", len(got))
	}
}

// TestDownloadIsVerified: the client notices a node that answers with other bytes.
func TestDownloadIsVerified(t *testing.T) {
	lies := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "lies") }))
	t.Cleanup(lies.Close)
	c, err := client.New(client.Config{URLs: []string{lies.URL}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	content, err := c.BlobContent(t.Context(), api.BlobRange{Digest: digestOf([]byte("truth")), Length: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer content.Body.Close()
	if got, err := io.ReadAll(content.Body); api.CodeOf(err) != api.CodeDigestMismatch {
		t.Errorf("%q, %v", got, err)
	}
}

// TestClientSendsFilesAgain: the client sends a file again, to another node and from the beginning, if the file can be read
// twice.
func TestClientSendsFilesAgain(t *testing.T) {
	fake := apitest.NewFake()
	t.Cleanup(fake.Close)
	half := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadFull(r.Body, make([]byte, 50_000))
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(half.Close)
	c := apitest.OverHTTP(t, fake, half.URL)
	data := bytes.Repeat([]byte("0123456789"), 20_000)
	file := bytes.NewReader(append([]byte("head"), data...))
	if _, err := file.Seek(4, io.SeekStart); err != nil { // the bytes before are not part of the upload
		t.Fatal(err)
	}
	b, err := c.PutBlob(t.Context(), api.PutBlobRequest{Body: file, Size: int64(len(data)), Digest: digestOf(data)})
	if err != nil || b.Digest != digestOf(data) {
		t.Errorf("%+v, %v", b, err)
	}
	c2 := apitest.OverHTTP(t, fake, half.URL)
	if b, err := c2.PutBlob(t.Context(), api.PutBlobRequest{Body: io.MultiReader(bytes.NewReader(data)), Size: -1}); err == nil {
		t.Errorf("what cannot be read twice was sent twice: %+v", b)
	}
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}
