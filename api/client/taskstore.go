package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/codec"
)

var _ api.TaskStore = (*Client)(nil)

// StoreGroups implements Service.
func (c *Client) StoreGroups(ctx context.Context, namespace string) ([]string, error) {
	if err := api.CheckNamespace(&namespace); err != nil {
		return nil, err
	}
	var names []string
	_, err := c.do(ctx, call{method: http.MethodGet, path: codec.StorePrefix + "groups", query: inNamespace(namespace), resend: true}, &names)
	return names, err
}

// StoreTasks implements Service.
func (c *Client) StoreTasks(ctx context.Context, namespace string, ids []uint64) (api.StoreList, error) {
	if err := api.CheckStoreIDs(&namespace, ids); err != nil {
		return nil, err
	}
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = strconv.FormatUint(id, 10)
	}
	var tasks []*api.StoreTask
	_, err := c.do(ctx, call{
		method: http.MethodGet, path: codec.StorePrefix + "tasks/" + strings.Join(texts, ","), query: inNamespace(namespace),
		wait: slowWait, resend: true,
	}, &tasks)
	return api.ListStore(tasks), err
}

// StoreGroup implements Service.
func (c *Client) StoreGroup(ctx context.Context, namespace, group string, limit int, owned bool) (api.StoreList, error) {
	if err := api.CheckStoreGroup(&namespace, group); err != nil {
		return nil, err
	}
	q := inNamespace(namespace)
	q.Set("limit", strconv.Itoa(max(limit, 0)))
	q.Set("owned", strconv.FormatBool(owned))
	var tasks []*api.StoreTask
	_, err := c.do(ctx, call{
		method: http.MethodGet, path: codec.StorePrefix + "group/" + url.PathEscape(group), query: q, wait: slowWait, resend: true,
	}, &tasks)
	return api.ListStore(tasks), err
}

// StoreUpdate implements Service.
func (c *Client) StoreUpdate(ctx context.Context, r api.StoreUpdateRequest) (*api.StoreReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	body := codec.StoreUpdateBody{ClientID: &r.ClientID, Deletes: r.Deletes, Depends: r.Depends}
	for i := range r.Adds {
		x := &r.Adds[i]
		body.Adds = append(body.Adds, codec.StoreAddBody{Group: x.Group, Data: x.Data, Timespec: &x.Timespec})
	}
	for i := range r.Updates {
		x := &r.Updates[i]
		body.Updates = append(body.Updates, codec.StoreChangeBody{ID: x.ID, Data: x.Data, Timespec: &x.Timespec})
	}
	return c.store(ctx, "update", r.Namespace, body)
}

// StoreClaim implements Service. It rounds the duration up to milliseconds.
func (c *Client) StoreClaim(ctx context.Context, r api.StoreClaimRequest) (*api.StoreReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	return c.store(ctx, "claim", r.Namespace, codec.StoreClaimBody{
		ClientID: &r.ClientID, Group: r.Group, Duration: api.MillisUp(r.Duration), Depends: r.Depends,
	})
}

func (c *Client) store(ctx context.Context, what, namespace string, body any) (*api.StoreReply, error) {
	var answer struct {
		Tasks []*api.StoreTask `json:"tasks"`
		Error *api.StoreErrors `json:"error"`
	}
	_, err := c.do(ctx, call{
		method: http.MethodPost, path: codec.StorePrefix + what, query: inNamespace(namespace), contentType: codec.JSONMedia, body: codec.Encode(body),
	}, &answer)
	if err != nil {
		return nil, err
	}
	return &api.StoreReply{Tasks: answer.Tasks, Errors: answer.Error}, nil
}
