package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/internal/issuer"
	"github.com/taskrt/taskrt/internal/leash"
)

// provider is an issuer that a test asks itself, too.
type provider struct {
	*issuer.Issuer

	t *testing.T
}

// post sends a form, and returns the answer.
func (i *provider) post(path string, form url.Values, user ...string) []byte {
	i.t.Helper()
	req, err := http.NewRequestWithContext(i.t.Context(), http.MethodPost, i.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		i.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if len(user) == 2 {
		req.SetBasicAuth(user[0], user[1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		i.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		i.t.Fatalf("POST %s: %s %s, %v", path, res.Status, text, err)
	}
	return text
}

// workload is the JWT that the issuer gives a workload for an audience.
func (i *provider) workload(audience string) string {
	i.t.Helper()
	var answer struct {
		Token string `json:"access_token"`
	}
	text := i.post("/token", url.Values{"grant_type": {"client_credentials"}, "resource": {"urn:test/" + audience}}, "ci", "only-in-this-test")
	if err := json.Unmarshal(text, &answer); err != nil {
		i.t.Fatal(err)
	}
	return answer.Token
}

// person is somebody at a machine of one's own, with a context of the cluster and no token.
type person struct {
	c   *cluster
	env []string
}

func (c *cluster) person(node int) *person {
	c.t.Helper()
	p := &person{c, append(os.Environ(), "XDG_CONFIG_HOME="+c.t.TempDir())}
	p.run(0, "context", "add", "here", "--server", c.url(c.nodes[node]), "--ca", c.ca)
	return p
}

// run runs a command, which must end with a code.
func (p *person) run(code int, args ...string) (stdout, stderr string) {
	p.c.t.Helper()
	cmd := leash.Command(binary, args...)
	var out, errs strings.Builder
	cmd.Env, cmd.Stdout, cmd.Stderr = p.env, &out, &errs
	_ = cmd.Run() // by the code
	if got := cmd.ProcessState.ExitCode(); got != code {
		p.c.t.Errorf("taskrt %s: code %d, not %d: %s%s", strings.Join(args, " "), got, code, out.String(), errs.String())
	}
	return out.String(), errs.String()
}

// signIn signs the person in by the device flow.
func (p *person) signIn(i *provider, account string) string {
	p.c.t.Helper()
	cmd := leash.Command(binary, "login", "--scope", "groups")
	cmd.Env = p.env
	errs, err := cmd.StderrPipe()
	if err != nil {
		p.c.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		p.c.t.Fatal(err)
	}
	lines := bufio.NewReader(errs)
	line, _ := lines.ReadString('\n')
	code := regexp.MustCompile(` enter (\S+)\n$`).FindStringSubmatch(line)
	if code == nil {
		p.c.t.Fatalf("taskrt login says %q", line)
	}
	i.post("/approve?"+url.Values{"user_code": {code[1]}, "account": {account}}.Encode(), nil)
	rest, _ := io.ReadAll(lines)
	if err := cmd.Wait(); err != nil {
		p.c.t.Errorf("taskrt login: %v: %s", err, rest)
	}
	return string(rest)
}

// TestSignIn: people sign in by the device flow of a real issuer, workloads by its JWTs, with the same rules on every node. The issuer goes away:
// sessions and known keys go on. A session is revoked, and signed out (SPEC A7).
func TestSignIn(t *testing.T) {
	t.Parallel()
	i := &provider{issuer.Start(t, freeAddr(t)), t}
	secret, _ := drawSecret(t)
	c := newCluster(t, "--cluster-secret", secret, "--worker", "none")
	c.taskrt(binary, "oidc", "set", "corp", "--issuer", i.URL, "--client-id", "taskrt", "--session", "1h",
		"--rule", "groups=ops operate,read", "--rule", "groups=robots submit team-* mail.*")
	if got := c.taskrt(binary, "oidc", "list"); !strings.Contains(got, "groups=ops") || !strings.Contains(got, "mail.*") {
		t.Errorf("oidc list: %s", got)
	}
	for node := range 3 { // a node that has not applied the settings yet knows no issuer
		c.eventually("the issuer is known", func() bool {
			_, text := c.do(t.Context(), node, http.MethodGet, "/v1/sign-in", nil)
			return strings.Contains(string(text), i.URL)
		})
	}

	ann := c.person(0)
	ann.run(5, "list")
	if said := ann.signIn(i, "ann"); !strings.Contains(said, "corp/ann") || !strings.Contains(said, "read,operate") {
		t.Errorf("login says %q", said)
	}
	ann.run(0, "list")
	if self, _ := ann.run(0, "token", "self"); !strings.Contains(self, "corp/ann") {
		t.Errorf("token self: %s", self)
	}
	ann.run(5, "token", "list") // no admin
	bob := c.person(1)
	cmd := leash.Command(binary, "login", "--issuer", "nobody")
	cmd.Env = bob.env
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "corp") {
		t.Errorf("an unknown issuer: %s", out)
	}

	jwt := filepath.Join(t.TempDir(), "jwt")
	robot := func(node int, audience string, code int) (credential string) {
		t.Helper()
		writeSecret(t, jwt, i.workload(audience)+"\n")
		out, _ := c.person(node).run(code, "login", "--jwt", "@"+jwt, "-o", "json")
		var made struct {
			Credential, Subject string
			Namespaces          []string
		}
		if code == 0 {
			if err := json.Unmarshal([]byte(out), &made); err != nil || made.Subject != "corp/ci" || fmt.Sprint(made.Namespaces) != "[team-*]" {
				t.Errorf("%v: %s", err, out)
			}
		}
		return made.Credential
	}
	for node := range 2 {
		if credential := robot(node, "taskrt", 0); c.refusal(node, http.MethodGet, "/v1/self", credential) != "" {
			t.Errorf("the session of a workload does not hold at n%d", node+1)
		}
	}
	robot(0, "another", 5)

	kept := i.workload("taskrt")
	i.Stop()
	ann.run(0, "list")
	writeSecret(t, jwt, kept)
	c.person(0).run(0, "login", "--jwt", "@"+jwt)
	if _, said := c.person(2).run(3, "login", "--jwt", "@"+jwt); !strings.Contains(said, "issuer_away") {
		t.Errorf("at a node that has never asked the issuer: %s", said)
	}

	ann.run(0, "logout")
	ann.run(5, "list")
	var all struct {
		Tokens []struct{ Name, Subject string }
	}
	if err := json.Unmarshal([]byte(c.taskrt(binary, "token", "list", "-o", "json")), &all); err != nil || len(all.Tokens) != 3 {
		t.Fatalf("%v: %+v", err, all)
	}
	for _, x := range all.Tokens {
		c.taskrt(binary, "token", "revoke", x.Name)
	}
	c.taskrt(binary, "oidc", "rm", "corp")
	c.eventually("the issuer is gone", func() bool {
		code, _ := c.do(t.Context(), 0, http.MethodGet, "/v1/sign-in", nil)
		_, said := c.person(0).run(5, "login", "--jwt", "@"+jwt)
		return code == http.StatusOK && strings.Contains(said, "issuer_not_found")
	})
}
