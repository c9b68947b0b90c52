package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// needs is what the document of the API says that a route needs, in the words of auth.Rule.String.
type needs struct {
	place string   // the text after the roles; "" for what needs no role
	roles []string // one of them is enough, or all are asked for
	all   bool
	plain string // "nothing", "a token", or the text of what members may ask
}

const everywhere = "for everything"

func readNeeds(t *testing.T, text string) (n needs) {
	t.Helper()
	text = strings.TrimSuffix(strings.TrimPrefix(text, "Needs "), ".")
	if text == "nothing" || text == "a token" {
		return needs{plain: text}
	}
	if text == "read for everything, or the token of a worker secret" {
		return needs{place: everywhere, roles: []string{"read"}, plain: "worker"}
	}
	words := strings.Fields(text)
	for i, w := range words {
		switch {
		case w == "and":
			n.all = true
		case w == "or":
		case slices.Contains(roleNames, w):
			n.roles = append(n.roles, w)
		default:
			n.place = strings.Join(words[i:], " ")
			if !slices.Contains([]string{"in some namespace", "in the namespace, for what it is about", "for the behavior", "for every behavior of the namespace", everywhere}, n.place) || n.roles == nil {
				t.Fatalf("the document says %q", text)
			}
			return n
		}
	}
	t.Fatalf("the document says %q", text)
	return n
}

var roleNames = []string{"read", "submit", "work", "deploy", "operate", "admin"}

// holder is a token of the matrix: a role, and for what.
type holder struct {
	role, credential         string
	everywhere, behaviorOnly bool // for all namespaces; for the behavior mine alone
}

// wants returns the code that a holder gets for a route, by the document: "" if it is let in.
func (n needs) wants(h holder, namespace, behavior string) string {
	if n.plain == "nothing" || n.plain == "a token" {
		return ""
	}
	has := slices.Contains(n.roles, h.role) && (!n.all || len(n.roles) == 1)
	inside := h.everywhere || namespace == "own-a"
	ofNamespace := n.place != "in some namespace" && n.place != everywhere
	switch {
	case ofNamespace && !inside:
		return "namespace_not_found"
	case !has,
		n.place == everywhere && (!h.everywhere || h.behaviorOnly),
		n.place == "for every behavior of the namespace" && h.behaviorOnly,
		n.place == "for the behavior" && h.behaviorOnly && behavior != "mine":
		return "forbidden"
	}
	return ""
}

// TestMatrix asks three real nodes for every route of their document, by tokens with each role, for namespaces and behaviors of one's own, of
// others and of nobody. What is let in and what is refused follows from what the document says that the route needs (SPEC A5).
func TestMatrix(t *testing.T) {
	t.Parallel()
	secret, _ := drawSecret(t)
	c := newCluster(t, "--cluster-secret", secret, "--worker", "none")
	post := func(path, body string) []byte {
		t.Helper()
		code, answer := c.insist(t.Context(), 0, http.MethodPost, path, json.RawMessage(body))
		if code/100 != 2 {
			t.Fatalf("POST %s: %d %s", path, code, answer)
		}
		return answer
	}
	for _, name := range []string{"own-a", "foreign"} {
		post("/v1/namespaces", `{"name":"`+name+`"}`)
		for _, behavior := range []string{"mine", "other"} {
			if code, answer := c.insist(t.Context(), 0, http.MethodPut, "/v1/behaviors/"+behavior+"?namespace="+name, json.RawMessage(`{"kind":"external"}`)); code/100 != 2 {
				t.Fatalf("%d %s", code, answer)
			}
		}
	}
	var holders []holder
	for _, role := range roleNames {
		for i, more := range []string{`,"namespaces":["own-*"]`, `,"namespaces":["own-*"],"behaviors":["mine"]`, ``} {
			var made struct{ Credential string }
			if err := json.Unmarshal(post("/v1/tokens", fmt.Sprintf(`{"name":"%s-%d","roles":[%q]%s}`, role, i, role, more)), &made); err != nil {
				t.Fatal(err)
			}
			holders = append(holders, holder{role, made.Credential, i == 2, i == 1})
		}
	}
	c.known(holders[len(holders)-1].credential) // and so those before it
	_, text := c.insist(t.Context(), 0, http.MethodGet, "/openapi.json", nil)
	var doc struct {
		Paths map[string]map[string]struct {
			ID    string `json:"operationId"`
			Needs string `json:"description"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	asked, node := 0, 0
	for path, methods := range doc.Paths {
		for method, route := range methods {
			n := readNeeds(t, route.Needs)
			for _, namespace := range []string{"own-a", "foreign", "unknown"} {
				for _, behavior := range []string{"mine", "other"} {
					target := fill(path, namespace, behavior)
					node = (node + 1) % 3
					for _, h := range append(holders, holder{role: "no token"}) {
						want := n.wants(h, namespace, behavior)
						if h.credential == "" && n.plain != "nothing" {
							want = "unauthenticated"
						}
						if got := c.refusal(node, strings.ToUpper(method), target, h.credential); got != want && (got != "namespace_not_found" || namespace != "unknown" || want != "") {
							t.Errorf("%s %s by %+v: %q, not %q", strings.ToUpper(method), target, h, got, want)
						}
						asked++
					}
				}
			}
		}
	}
	t.Logf("%d requests", asked)
}

// fill puts names into the path of a route. The query has a parameter that no route knows, so that what is let in changes nothing.
func fill(path, namespace, behavior string) string {
	query := "?namespace=" + namespace + "&no-such-parameter=1"
	if strings.HasPrefix(path, "/v1/namespaces") {
		path, query = strings.Replace(path, "{name}", namespace, 1), "?no-such-parameter=1"
	}
	return strings.NewReplacer("{name}", behavior, "{id}", "some-task", "{ids}", "1,2", "{group}", "g", "{digest}", strings.Repeat("a", 64), "{run}", "1").Replace(path) + query
}

// refusal is the code by which a node refuses a request for who asks; "" if it lets the request in.
func (c *cluster) refusal(node int, method, target, credential string) string {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.url(c.nodes[node])+target, http.NoBody)
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+credential)
	res, err := c.http.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	var p problem
	if res.Header.Get("Content-Type") == "application/problem+json" {
		if err := json.NewDecoder(res.Body).Decode(&p); err != nil {
			c.t.Fatal(err)
		}
	}
	switch p.Code {
	case "unauthenticated", "forbidden", "namespace_not_found":
		return p.Code
	case "rate_limited":
		if credential == "" {
			return "unauthenticated" // an address that guesses is slowed down
		}
	}
	return ""
}
