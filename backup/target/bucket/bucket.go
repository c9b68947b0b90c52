// Package bucket is a bucket as a target of backups (SPEC C8), in whatever speaks the S3 protocol.
package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/taskrt/taskrt/backup/target"
)

// Scheme begins the URL of a bucket.
const Scheme = "s3://"

// Bucket is a bucket, or what lies below a prefix in one.
type Bucket struct {
	core   minio.Core
	bucket string
	prefix string // empty, or with a slash at its end
	text   string
}

var _ target.Target = (*Bucket)(nil)

// The parts of the client that a URL cannot say.
const (
	partBytes  = 16 << 20    // of an object whose length is not known before; one part is in memory. 10,000 of them make an object
	singlePut  = 64 << 20    // an object of a known length goes as one
	stall      = time.Minute // an answer that does not begin for so long, or a connection on which nothing moves for twice as long, is given up
	attempts   = 5           // for each request
	defaultURL = "https://s3.amazonaws.com"
)

// Open reads s3://BUCKET/PREFIX?endpoint=URL&region=REGION&path_style=true. Nothing is sent before the first call. Keys are found where every
// client of S3 looks for them: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, ~/.aws/credentials, the role of the machine.
func Open(text string) (*Bucket, error) {
	return open(text, (&net.Dialer{Timeout: stall / 2}).DialContext)
}

// dialer makes a connection.
type dialer func(ctx context.Context, network, addr string) (net.Conn, error)

func open(text string, dial dialer) (*Bucket, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, err
	}
	q := u.Query()
	for name := range q {
		if !slices.Contains([]string{"endpoint", "region", "path_style"}, name) {
			return nil, fmt.Errorf("%s: there is no parameter %q: there are endpoint, region and path_style", u.Redacted(), name)
		}
	}
	switch {
	case u.Host == "":
		return nil, fmt.Errorf("%s names no bucket: s3://BUCKET/PREFIX", text)
	case u.User != nil:
		return nil, fmt.Errorf("%s: keys do not belong in a URL, which logs and process lists show: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or use ~/.aws/credentials", u.Redacted())
	}
	endpoint := first(q.Get("endpoint"), os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"), defaultURL)
	at, err := url.Parse(endpoint)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" || strings.Trim(at.Path, "/") != "" || at.User != nil {
		return nil, fmt.Errorf("%s: endpoint is http://HOST:PORT or https://HOST:PORT", u.Redacted())
	}
	lookup := minio.BucketLookupAuto
	switch q.Get("path_style") {
	case "":
	case "true":
		lookup = minio.BucketLookupPath
	case "false":
		lookup = minio.BucketLookupDNS
	default:
		return nil, fmt.Errorf("%s: path_style is true or false", u.Redacted())
	}
	transport, err := minio.DefaultTransport(at.Scheme == "https")
	if err != nil {
		return nil, err
	}
	transport.DialContext, transport.ResponseHeaderTimeout = dial.moving, stall
	client, err := minio.New(at.Host, &minio.Options{
		Creds:  credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{Client: &http.Client{Transport: transport}}}),
		Secure: at.Scheme == "https", Transport: transport, BucketLookup: lookup, MaxRetries: attempts,
		Region: first(q.Get("region"), os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION")),
	})
	if err != nil {
		return nil, err
	}
	client.SetAppInfo("taskrt", "0")
	b := &Bucket{core: minio.Core{Client: client}, bucket: u.Host, prefix: strings.Trim(u.Path, "/"), text: u.String()}
	if b.prefix != "" {
		b.prefix += "/"
	}
	return b, nil
}

func first(texts ...string) string {
	i := slices.IndexFunc(texts, func(s string) bool { return s != "" })
	return append(texts, "")[max(i, 0)]
}

// moving makes a connection that ends when nothing moves on it.
func (d dialer) moving(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := d(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return moving{c}, nil
}

// moving is a connection on which something moves. While a request is written, a read waits for its answer: what is written counts for that read,
// too, or else no body could take longer than a silence may.
type moving struct{ net.Conn }

// Read implements net.Conn.
func (c moving) Read(b []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(2 * stall)); err != nil {
		return 0, err
	}
	return c.Conn.Read(b)
}

// Write implements net.Conn.
func (c moving) Write(b []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(2 * stall)); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// String implements target.Target.
func (b *Bucket) String() string { return b.text }

// Shared implements target.Target.
func (b *Bucket) Shared() bool { return true }

// explain makes an error of the store readable.
func (b *Bucket) explain(what, name string, err error) error {
	if err == nil {
		return nil
	}
	switch r := minio.ToErrorResponse(err); r.Code {
	case minio.NoSuchKey:
		return fmt.Errorf("%w: %s in bucket %s", target.ErrNotThere, name, b.bucket)
	case minio.NoSuchBucket:
		return fmt.Errorf("there is no bucket %s at %s", b.bucket, b.core.EndpointURL())
	case minio.AccessDenied, "InvalidAccessKeyId", "SignatureDoesNotMatch":
		return fmt.Errorf("%s %s is refused by %s: %s (%s)", what, name, b.core.EndpointURL(), r.Message, r.Code)
	}
	return fmt.Errorf("%s %s: %w", what, name, err)
}

// Put implements target.Target.
func (b *Bucket) Put(ctx context.Context, name string, r io.Reader, size int64) error {
	o := minio.PutObjectOptions{SendContentMd5: true, PartSize: partBytes, NumThreads: 1}
	if size >= 0 && size <= singlePut {
		o.DisableMultipart = true
	}
	_, err := b.core.Client.PutObject(ctx, b.bucket, b.prefix+name, r, size, o)
	return b.explain("writing", name, err)
}

// Create implements target.Target, by a condition on the request.
func (b *Bucket) Create(ctx context.Context, name string, data []byte) (created bool, err error) {
	for i := 0; ; i++ {
		o := minio.PutObjectOptions{SendContentMd5: true, DisableMultipart: true}
		o.SetMatchETagExcept("*")
		_, err = b.core.Client.PutObject(ctx, b.bucket, b.prefix+name, strings.NewReader(string(data)), int64(len(data)), o)
		r := minio.ToErrorResponse(err)
		switch {
		case err == nil:
			return true, nil
		case r.StatusCode == http.StatusPreconditionFailed || r.Code == minio.PreconditionFailed:
			return b.own(ctx, name, data)
		case r.StatusCode == http.StatusConflict && i < attempts: // another one writes it now
			continue
		}
		return false, b.explain("writing", name, err)
	}
}

// own reports whether an object that is there is the object that was to be created, because the answer to the request before was lost. Empty objects
// are all the same.
func (b *Bucket) own(ctx context.Context, name string, data []byte) (bool, error) {
	if len(data) == 0 {
		return false, nil
	}
	there, err := target.Small(ctx, b, name)
	return string(there) == string(data), err
}

// List implements target.Target.
func (b *Bucket) List(ctx context.Context, folder string) iter.Seq2[target.Object, error] {
	return func(yield func(target.Object, error) bool) {
		for o := range b.core.ListObjectsIter(ctx, b.bucket, minio.ListObjectsOptions{Prefix: b.prefix + folder, Recursive: true}) {
			if o.Err != nil {
				yield(target.Object{}, b.explain("listing", folder, o.Err))
				return
			}
			if strings.HasSuffix(o.Key, "/") {
				continue // what some tools write for a folder
			}
			if !yield(target.Object{Name: strings.TrimPrefix(o.Key, b.prefix), Size: o.Size, Modified: o.LastModified}, nil) {
				return
			}
		}
	}
}

// Folders implements target.Target.
func (b *Bucket) Folders(ctx context.Context, folder string) (names []string, err error) {
	for o := range b.core.ListObjectsIter(ctx, b.bucket, minio.ListObjectsOptions{Prefix: b.prefix + folder}) {
		if o.Err != nil {
			return nil, b.explain("listing", folder, o.Err)
		}
		if name, ok := strings.CutSuffix(strings.TrimPrefix(o.Key, b.prefix+folder), "/"); ok && name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Delete implements target.Target.
func (b *Bucket) Delete(ctx context.Context, name string) error {
	err := b.explain("deleting", name, b.core.RemoveObject(ctx, b.bucket, b.prefix+name, minio.RemoveObjectOptions{}))
	if errors.Is(err, target.ErrNotThere) {
		return nil
	}
	return err
}

// Sweep implements target.Target.
func (b *Bucket) Sweep(ctx context.Context, folder string, age time.Duration) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	all := b.core.ListIncompleteUploads(ctx, b.bucket, b.prefix+folder, true)
	for u := range all {
		switch {
		case err != nil: // the rest is read, so that nobody waits to send it
		case u.Err != nil:
			err = b.explain("listing uploads of", folder, u.Err)
		case time.Since(u.Initiated) > age:
			err = b.explain("ending an upload of", u.Key, b.core.AbortMultipartUpload(ctx, b.bucket, u.Key, u.UploadID))
		}
		if err != nil {
			cancel()
		}
	}
	return err
}
