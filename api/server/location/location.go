// Package location says in the header Location where what a request has created is found.
package location

import (
	"net/http"
	"net/url"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/api/internal/codec"
	"github.com/taskrt/taskrt/api/jobs"
)

// Header is the header.
const Header = "Location"

// Set names the path of what a request has created, if the answer is a 201 to a POST. A PUT names the path itself (RFC 9110, section 15.3.2).
func Set(h http.Header, status int, answer any) {
	if path := of(answer); path != "" && status == http.StatusCreated {
		h.Set(Header, path)
	}
}

func of(answer any) string {
	switch v := answer.(type) {
	case *api.SubmitReply:
		return in(v.Task.Namespace, "tasks", v.Task.ID)
	case *codec.MinimalReply:
		return in(v.Task.Namespace, "tasks", v.Task.ID)
	case codec.OperationAnswer:
		return in(v.Operation.Namespace, "operations", v.Operation.ID)
	case codec.NamespaceAnswer:
		return in("", "namespaces", v.Namespace.Name)
	case *jobs.JobReply:
		if v.Job != nil {
			return in("", "jobs", v.Job.ID)
		}
	case *auth.CreatedToken:
		return in("", "tokens", v.Name)
	}
	return ""
}

// in is the path of one of these, in a namespace unless the namespace is "".
func in(namespace, what, name string) string {
	path := "/v1/" + what + "/" + url.PathEscape(name)
	if namespace != "" && namespace != api.DefaultNamespace {
		path += "?namespace=" + url.QueryEscape(namespace)
	}
	return path
}
