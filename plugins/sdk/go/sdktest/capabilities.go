package sdktest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"time"

	"github.com/taskrt/taskrt/abi"
	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
)

// Child is a task that an attempt has submitted (package tasks).
type Child struct {
	Behavior    string
	ID          string // "": the cluster makes one
	Params      json.RawMessage
	ParamsBytes []byte
	Labels      map[string]string
	Priority    int
	Delay       time.Duration
	NotBefore   time.Time // zero: none
	Deadline    time.Time
	IfExists    string
}

// granted is the state of an attempt's capabilities.
type granted struct {
	requests int
	parts    map[int32][]byte // of the last request
	children []Child
	bytes    int // of the children's JSON
}

// refuse turns the error of a hook into an answer.
func refuse(err error) error {
	if err == nil {
		return nil
	}
	return &refusal{status(err), err}
}

// refusal is a status, and the reason for it.
type refusal struct {
	status abi.Errno
	error
}

func refused(status abi.Errno, format string, args ...any) error {
	return &refusal{status, fmt.Errorf(format, args...)}
}

// answer is the status of a refusal.
func answer(err error) int32 {
	r, _ := errors.AsType[*refusal](err)
	return int32(r.status)
}

var secretName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

func (a *attempt) Secret(name string, to []byte) int32 {
	if !secretName.MatchString(name) {
		return int32(abi.EINVAL)
	}
	if a.OnSecret != nil {
		if err := a.OnSecret(name); err != nil {
			return int32(status(err))
		}
	}
	value, granted := a.Secrets[name]
	switch {
	case !granted:
		return int32(abi.EDENIED)
	case value == nil:
		return int32(abi.ENOENT)
	}
	copy(to, value)
	return int32(len(value))
}

func (a *attempt) Request(head, body []byte) int32 {
	a.parts = nil
	res, err := a.request(head, body)
	if err != nil {
		a.parts = map[int32][]byte{abi.HTTPError: []byte(err.Error())}
		return answer(err)
	}
	defer res.Body.Close()
	text, err := json.Marshal(map[string]any{"status": res.StatusCode, "headers": res.Header})
	if err != nil {
		panic(err) // cannot happen: numbers and strings always marshal
	}
	body, err = io.ReadAll(res.Body)
	if err != nil {
		panic(err) // cannot happen: a recorder's body can be read
	}
	a.parts = map[int32][]byte{abi.HTTPHead: text, abi.HTTPBody: body}
	return int32(res.StatusCode)
}

func (a *attempt) request(head, body []byte) (*http.Response, error) {
	const maxHead, maxBody, maxRequests = 32 << 10, 16 << 20, 1000 // as package runtime has them
	switch {
	case len(head) > maxHead:
		return nil, refused(abi.E2BIG, "the head has %d bytes, at most %d", len(head), maxHead)
	case len(body) > maxBody:
		return nil, refused(abi.E2BIG, "the body has %d bytes, at most %d", len(body), maxBody)
	case a.requests >= maxRequests:
		return nil, refused(abi.E2BIG, "the attempt has made %d requests", a.requests)
	case a.signals.LeaseLost():
		return nil, refused(abi.ECONFLICT, "the lease is lost, or about to be")
	}
	r, err := httpRequest(head, body)
	if err != nil {
		return nil, err
	}
	if a.HTTP == nil {
		return nil, refused(abi.EDENIED, "not allowed: sdktest.Host.HTTP is nil")
	}
	if a.OnRequest != nil {
		if err := refuse(a.OnRequest(r)); err != nil {
			return nil, err
		}
	}
	a.requests++
	w := httptest.NewRecorder()
	a.HTTP.ServeHTTP(w, r)
	if w.Code < 200 || w.Code > 599 {
		return nil, refused(abi.EAGAIN, "failed: the answer has status %d", w.Code)
	}
	if r.Method == http.MethodHead {
		w.Body.Reset()
	}
	return w.Result(), nil
}

func httpRequest(head, body []byte) (*http.Request, error) {
	var q struct {
		Method  string            `json:"method"`
		URL     string            `json:"url"`
		Headers map[string]string `json:"headers"`
	}
	if err := strict(head, &q); err != nil {
		return nil, refused(abi.EINVAL, "the head: %w", err)
	}
	u, err := url.Parse(q.URL)
	switch {
	case err != nil:
		return nil, refused(abi.EINVAL, "not a request: %w", err)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, refused(abi.EINVAL, "not a request: url: must begin with http:// or https://")
	case u.User != nil:
		return nil, refused(abi.EINVAL, "not a request: url: credentials belong into a header")
	}
	r, err := http.NewRequest(q.Method, q.URL, bytes.NewReader(body))
	if err != nil {
		return nil, refused(abi.EINVAL, "not a request: %w", err)
	}
	r.Header.Set("User-Agent", "taskrt")
	for name, value := range q.Headers { // the order does not matter: they go into a map
		r.Header.Set(name, value)
	}
	return r, nil
}

func (a *attempt) PartLen(part int32) int32 {
	text, ok := a.parts[part]
	if !ok {
		return noPart(part)
	}
	return int32(len(text))
}

func (a *attempt) PartRead(part, off int32, to []byte) int32 {
	text, ok := a.parts[part]
	if !ok {
		return noPart(part)
	}
	return int32(copy(to, text[min(int(off), len(text)):]))
}

func noPart(part int32) int32 {
	if part < abi.HTTPHead || part > abi.HTTPError {
		return int32(abi.ENOSYS)
	}
	return int32(abi.ENOENT)
}

func (a *attempt) Submit(text []byte) int32 {
	if err := a.submit(text); err != nil {
		a.Log(int32(sdk.LevelWarn), []byte("a child was refused: "+err.Error()))
		return answer(err)
	}
	return int32(len(a.children) - 1)
}

func (a *attempt) submit(text []byte) error {
	switch {
	case len(text) > abi.MaxChild:
		return refused(abi.E2BIG, "%d bytes, at most %d", len(text), abi.MaxChild)
	case a.bytes+len(text) > abi.MaxChildrenBytes:
		return refused(abi.E2BIG, "%d bytes in all, at most %d", a.bytes+len(text), abi.MaxChildrenBytes)
	case len(a.children) >= abi.MaxChildren:
		return refused(abi.E2BIG, "there are %d", len(a.children))
	case a.signals.LeaseLost():
		return refused(abi.ECONFLICT, "the lease is lost, or about to be")
	}
	c, err := ParseChild(text)
	if err != nil {
		return refused(abi.EINVAL, "%w", err)
	}
	if !slices.Contains(a.Tasks, c.Behavior) {
		return refused(abi.EDENIED, "not allowed: tasks of %s", c.Behavior)
	}
	if a.OnSubmit != nil {
		if err := refuse(a.OnSubmit(c)); err != nil {
			return err
		}
	}
	a.children, a.bytes = append(a.children, c), a.bytes+len(text)
	return nil
}

var behaviorName = regexp.MustCompile(`^[a-z0-9._-]{3,128}$`)

// ParseChild reads the JSON of a child as a host does. It checks less of it than a cluster.
func ParseChild(text []byte) (Child, error) {
	var q struct {
		Behavior     string            `json:"behavior"`
		ID           string            `json:"id"`
		Params       json.RawMessage   `json:"params"`
		ParamsBase64 []byte            `json:"params_base64"`
		Labels       map[string]string `json:"labels"`
		Priority     *int              `json:"priority"`
		Delay        string            `json:"delay"`
		NotBefore    time.Time         `json:"not_before"`
		Deadline     time.Time         `json:"deadline"`
		IfExists     string            `json:"if_exists"`
	}
	if err := strict(text, &q); err != nil {
		return Child{}, err
	}
	c := Child{Behavior: q.Behavior, ID: q.ID, Params: q.Params, ParamsBytes: q.ParamsBase64, Labels: q.Labels, Priority: 4,
		NotBefore: q.NotBefore, Deadline: q.Deadline, IfExists: q.IfExists}
	if q.Priority != nil {
		c.Priority = *q.Priority
	}
	var err error
	if q.Delay != "" {
		c.Delay, err = time.ParseDuration(q.Delay)
	}
	switch {
	case err != nil || c.Delay < 0:
		err = fmt.Errorf("delay: %q is none", q.Delay)
	case !behaviorName.MatchString(c.Behavior):
		err = fmt.Errorf("behavior: %q is no name: 3 to 128 of a-z 0-9 . _ -", c.Behavior)
	case c.Params != nil && c.ParamsBytes != nil:
		err = errors.New("params: give either params or params_base64")
	case c.Priority < 0 || c.Priority > 9:
		err = errors.New("priority: must be 0 to 9")
	case q.Delay != "" && !c.NotBefore.IsZero():
		err = errors.New("delay: give either not_before or delay")
	case !slices.Contains([]string{"", "join", "fail"}, c.IfExists):
		err = errors.New("if_exists: must be join or fail")
	}
	return c, err
}

// strict does what json.Unmarshal does, but refuses unknown fields.
func strict(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more behind the object")
	}
	return nil
}
