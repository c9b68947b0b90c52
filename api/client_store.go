package api

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

var _ TaskStore = (*Client)(nil)

// StoreGroups implements Service.
func (c *Client) StoreGroups(ctx context.Context, namespace string) ([]string, error) {
	if err := CheckStoreNamespace(&namespace); err != nil {
		return nil, err
	}
	var names []string
	_, err := c.do(ctx, call{method: http.MethodGet, path: storePrefix + "groups", query: inNamespace(namespace), resend: true}, &names)
	return names, err
}

// StoreTasks implements Service.
func (c *Client) StoreTasks(ctx context.Context, namespace string, ids []uint64) (StoreList, error) {
	if err := CheckStoreIDs(&namespace, ids); err != nil {
		return nil, err
	}
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = strconv.FormatUint(id, 10)
	}
	var tasks []*StoreTask
	_, err := c.do(ctx, call{
		method: http.MethodGet, path: storePrefix + "tasks/" + strings.Join(texts, ","), query: inNamespace(namespace),
		wait: slowWait, resend: true,
	}, &tasks)
	return ListStore(tasks), err
}

// StoreGroup implements Service.
func (c *Client) StoreGroup(ctx context.Context, namespace, group string, limit int, owned bool) (StoreList, error) {
	if err := CheckStoreGroup(&namespace, group); err != nil {
		return nil, err
	}
	q := inNamespace(namespace)
	q.Set("limit", strconv.Itoa(max(limit, 0)))
	q.Set("owned", strconv.FormatBool(owned))
	var tasks []*StoreTask
	_, err := c.do(ctx, call{
		method: http.MethodGet, path: storePrefix + "group/" + url.PathEscape(group), query: q, wait: slowWait, resend: true,
	}, &tasks)
	return ListStore(tasks), err
}

// StoreUpdate implements Service.
func (c *Client) StoreUpdate(ctx context.Context, r StoreUpdateRequest) (*StoreReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	body := storeUpdateBody{ClientID: &r.ClientID, Deletes: r.Deletes, Depends: r.Depends}
	for i := range r.Adds {
		x := &r.Adds[i]
		body.Adds = append(body.Adds, storeAddBody{Group: x.Group, Data: x.Data, Timespec: &x.Timespec})
	}
	for i := range r.Updates {
		x := &r.Updates[i]
		body.Updates = append(body.Updates, storeChangeBody{ID: x.ID, Data: x.Data, Timespec: &x.Timespec})
	}
	return c.store(ctx, "update", r.Namespace, body)
}

// StoreClaim implements Service. The duration is rounded up to milliseconds.
func (c *Client) StoreClaim(ctx context.Context, r StoreClaimRequest) (*StoreReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	return c.store(ctx, "claim", r.Namespace, storeClaimBody{
		ClientID: &r.ClientID, Group: r.Group, Duration: MillisUp(r.Duration), Depends: r.Depends,
	})
}

// MillisUp returns d in milliseconds, rounded up; 0 for a negative one.
func MillisUp(d time.Duration) int64 {
	d = max(d, 0)
	ms := d.Milliseconds()
	if d%time.Millisecond != 0 {
		ms++
	}
	return ms
}

func (c *Client) store(ctx context.Context, what, namespace string, body any) (*StoreReply, error) {
	var answer struct {
		Tasks []*StoreTask `json:"tasks"`
		Error *StoreErrors `json:"error"`
	}
	_, err := c.do(ctx, call{
		method: http.MethodPost, path: storePrefix + what, query: inNamespace(namespace), contentType: jsonMedia, body: encode(body),
	}, &answer)
	if err != nil {
		return nil, err
	}
	return &StoreReply{Tasks: answer.Tasks, Errors: answer.Error}, nil
}
