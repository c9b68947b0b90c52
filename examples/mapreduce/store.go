package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// task is a record of the TaskStore API. It never changes: an update makes another record, with another ID. As long as the
// ID is there, nobody has touched the task.
type task struct {
	ID       int64  `json:"id,omitempty"`
	Group    string `json:"group,omitempty"`
	Data     string `json:"data"`
	Timespec int64  `json:"timespec"` // available from then on, Unix ms; to write: 0 is now, -N is N ms from now
	OwnerID  int64  `json:"ownerid,omitempty"`
}

// update holds changes that happen all at once, or not at all.
type update struct {
	ClientID int64   `json:"clientid"`
	Adds     []task  `json:"adds,omitempty"`
	Updates  []task  `json:"updates,omitempty"`
	Deletes  []int64 `json:"deletes,omitempty"`
}

type claim struct {
	ClientID int64  `json:"clientid"`
	Group    string `json:"group"`
	Duration int64  `json:"duration"` // ms
}

// refused says why an update did not happen: tasks are gone, or belong to somebody else.
type refused []string

func (r refused) Error() string { return strings.Join(r, "; ") }

// store speaks the TaskStore API with any of several nodes.
type store struct {
	client  int64 // who we are
	token   string
	servers []string
	current atomic.Int64 // the one that answered last
	http    *http.Client
}

// newStore makes a store that asks these servers. ca is a file of certificates; "": the system's authorities. token may be "".
func newStore(servers []string, ca, token string) (*store, error) {
	s := &store{client: int64(randomBits() >> 1), servers: servers, token: token, http: &http.Client{Timeout: 30 * time.Second}}
	s.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // nobody else gets the token
	for _, server := range servers {
		if u, err := url.Parse(server); token != "" && (err != nil || u.Scheme != "https" && !isLoopback(u.Hostname())) {
			return nil, fmt.Errorf("-server: %s is not https: everybody on the way there could read the token", server)
		}
	}
	if ca == "" {
		return s, nil
	}
	text, err := os.ReadFile(ca)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("-ca: %s holds no certificate", ca)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: roots}
	s.http.Transport = transport
	return s, nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func randomBits() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint64(b[:])
}

// list returns tasks of a group, at most limit (0: all), owned ones too if asked.
func (s *store) list(ctx context.Context, group string, limit int, owned bool) ([]task, error) {
	var tasks []task
	path := "group/" + url.PathEscape(group) + "?limit=" + strconv.Itoa(limit) + "&owned=" + strconv.FormatBool(owned)
	err := s.call(ctx, http.MethodGet, path, nil, "", &tasks)
	return tasks, err
}

// update makes the changes and returns the new tasks: first the adds, then the updates. key, if any, makes it happen once however
// often it is sent. Without a key, an update that deletes or updates something still cannot happen twice: the second time, the IDs
// are gone.
func (s *store) update(ctx context.Context, u update, key string) ([]task, error) {
	u.ClientID = s.client
	return s.post(ctx, "update", u, key)
}

// claim makes a random available task of the group ours for some time; it returns nil if there is none. A claim whose answer is lost
// is a task that nobody works on for this time, and no more harm.
func (s *store) claim(ctx context.Context, group string, d time.Duration) (*task, error) {
	tasks, err := s.post(ctx, "claim", claim{ClientID: s.client, Group: group, Duration: d.Milliseconds()}, "")
	if err != nil || len(tasks) == 0 {
		return nil, err
	}
	return &tasks[0], nil
}

func (s *store) post(ctx context.Context, path string, body any, key string) ([]task, error) {
	var reply struct {
		Tasks  []task  `json:"tasks"`
		Errors refused `json:"errors"`
	}
	if err := s.call(ctx, http.MethodPost, path, body, key, &reply); err != nil {
		return nil, err
	}
	if len(reply.Errors) > 0 {
		return nil, reply.Errors
	}
	return reply.Tasks, nil
}

// call asks one node after another until one answers: a node may be down, or the cluster may be electing a leader.
func (s *store) call(ctx context.Context, method, path string, body any, key string, reply any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	for {
		node := s.current.Load()
		again, err := s.try(ctx, method, s.servers[int(node)%len(s.servers)]+"/taskstore/"+path, text, key, reply)
		if err == nil || !again {
			return err
		}
		s.current.CompareAndSwap(node, node+1)
		if over := pause(ctx, poll); over != nil {
			return fmt.Errorf("%w; the last error was: %w", over, err)
		}
	}
}

// try reports whether another try, with another node, may help.
func (s *store) try(ctx context.Context, method, target string, text []byte, key string, reply any) (again bool, err error) {
	req, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(text))
	if err != nil {
		return false, err
	}
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	if s.token != "" {
		req.Header.Set("Authorization", "Bearer "+s.token)
	}
	res, err := s.http.Do(req)
	if err != nil {
		return true, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	switch {
	case err != nil:
		return true, err
	case res.StatusCode == http.StatusTooManyRequests || res.StatusCode >= 500:
		return true, fmt.Errorf("%s %s: %s: %s", method, target, res.Status, answer)
	case res.StatusCode != http.StatusOK:
		return false, fmt.Errorf("%s %s: %s: %s", method, target, res.Status, answer)
	}
	return false, json.Unmarshal(answer, reply)
}
