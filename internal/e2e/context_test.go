package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/internal/leash"
)

// user is somebody at a shell: with contexts of their own, and nothing of the test's environment that tells commands where to go.
type user struct {
	*cluster
	dir string
	bin string // directory of the binary
}

// newUser gives a cluster a user, who sits in an empty directory.
func newUser(c *cluster) *user {
	c.t.Helper()
	return &user{c, c.t.TempDir(), filepath.Dir(binary)}
}

// credential finds tokens and secrets.
var credential = regexp.MustCompile(`tr[tsw]_[A-Za-z0-9_-]{40}`)

// sh runs a line of bash, which must exit with a code, and returns what it said on both streams. No line says a token or a secret: the lines
// that print one do so into a file (SPEC A9).
func (u *user) sh(code int, line string) (stdout, stderr string) {
	u.t.Helper()
	cmd := leash.Command("bash", "-euo", "pipefail", "-c", line)
	cmd.Dir = u.dir
	cmd.Env = []string{
		"PATH=" + u.bin + ":" + os.Getenv("PATH"), "HOME=" + u.dir, "XDG_CONFIG_HOME=" + filepath.Join(u.dir, "config"),
		"SERVERS=" + strings.Join(u.urls(), ","), leashVariable(u.t),
	}
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run() // the code says it
	if got := cmd.ProcessState.ExitCode(); got != code {
		u.t.Fatalf("%s\nexit code %d, want %d; it said:\n%s%s", line, got, code, out.String(), errs.String())
	}
	if credential.MatchString(out.String() + errs.String()) {
		u.t.Errorf("%s\nsays a credential", line)
	}
	return out.String(), errs.String()
}

// leashVariable ties what a shell starts to this process.
func leashVariable(t testing.TB) string {
	t.Helper()
	name, value, err := leash.Environment()
	if err != nil {
		t.Fatal(err)
	}
	return name + "=" + value
}

// refused runs a line that the cluster refuses, and wants a word in what it says.
func (u *user) refused(line, word string) {
	u.t.Helper()
	if _, said := u.sh(5, line); !strings.Contains(said, word) {
		u.t.Errorf("%s: %s, want %s", line, said, word)
	}
}

// knows waits until every node knows a token of a file as one that holds, or as none: the node that is asked to change a token has applied the
// change when it answers, the others are about to.
func (u *user) knows(file string, holds bool) {
	u.t.Helper()
	text, err := os.ReadFile(filepath.Join(u.dir, file))
	if err != nil {
		u.t.Fatal(err)
	}
	u.prove(strings.TrimSpace(string(text)))
	defer u.prove("none")
	for node := range u.nodes {
		u.eventually("every node knows "+file, func() bool {
			code, _ := u.do(u.t.Context(), node, "GET", "/v1/self", nil)
			return code == http.StatusOK && holds || code == http.StatusUnauthorized && !holds
		})
	}
}

// TestTokensFromTheCommandLine is what an operator of three nodes types (SPEC A3, A4, A5): a context with the root token, a token for a program,
// what it may do and what it may not, its rotation, its revocation, and the end of the root token.
func TestTokensFromTheCommandLine(t *testing.T) {
	t.Parallel()
	secret, _ := drawSecret(t)
	administers(t, newUser(newCluster(t, "--cluster-secret", secret)), secret)
}

// administers is what the operator types.
func administers(t *testing.T, u *user, secret string) {
	t.Helper()
	c := u.cluster
	c.push("wordcount")
	if err := os.Symlink(secret, filepath.Join(u.dir, "cluster.secret")); err != nil {
		t.Fatal(err)
	}
	u.sh(0, `taskrt context add prod --server "$SERVERS" --ca "$(taskrt secret ca cluster.secret)" --token-file <(taskrt token root --cluster-secret cluster.secret)`)
	u.sh(0, `umask 077; taskrt token create ci --role submit,read --namespace 'def*' --ttl 2160h > ci.token`)
	u.knows("ci.token", true)
	if out, _ := u.sh(0, `taskrt submit wordcount --id of-ci --params '{"text":"a b"}' --wait --token-file ci.token`); !strings.Contains(out, `"total":2`) {
		t.Errorf("submitted: %s", out)
	}
	var got struct {
		Task struct {
			CreatedBy string `json:"created_by"`
		}
	}
	out, _ := u.sh(0, `taskrt get of-ci -o json`)
	if err := json.Unmarshal([]byte(out), &got); err != nil || got.Task.CreatedBy != "ci" {
		t.Errorf("created by %q: %v, %s", got.Task.CreatedBy, err, out)
	}
	for line, word := range map[string]string{
		`taskrt cluster drain n1`:                       "the role operate",
		`taskrt token create more --role read`:          "the role admin",
		`taskrt behavior pause wordcount`:               "the role operate",
		`taskrt namespace show _system`:                 "namespace_not_found",
		`taskrt push ` + absolute(t, wasm("wordcount")): "the role deploy",
	} {
		u.refused(line+` --token-file ci.token`, word)
	}

	u.sh(0, `cp ci.token former.token; umask 077; taskrt token rotate ci --overlap 1h > next; mv next ci.token`)
	u.knows("ci.token", true)
	u.knows("former.token", true)
	u.sh(0, `umask 077; taskrt token rotate ci --overlap 0s > next; cp ci.token former.token; mv next ci.token`)
	u.knows("ci.token", true)
	u.knows("former.token", false)
	u.refused(`taskrt list --token-file former.token`, "unauthenticated")
	u.sh(0, `taskrt list --token-file ci.token`)
	u.sh(0, `taskrt token revoke ci`)
	u.knows("ci.token", false)
	u.refused(`taskrt submit wordcount --params '{}' --token-file ci.token`, "unauthenticated")
	u.refused(`taskrt token show ci`, "token_not_found")

	u.sh(0, `umask 077; taskrt token create ann --role read,submit,work,deploy,operate,admin > ann.token; taskrt token root --cluster-secret cluster.secret > root.token`)
	u.knows("ann.token", true)
	u.sh(0, `taskrt context add ann --server "$SERVERS" --ca "$(taskrt secret ca cluster.secret)" --token-file ann.token`)
	u.refused(`taskrt token disable-root`, "the root token does not turn itself off")
	u.sh(0, `taskrt token disable-root --context ann`)
	u.knows("root.token", false)
	u.refused(`taskrt cluster status`, "(context prod)")
	u.sh(0, `taskrt context use ann; taskrt cluster status`)
	port := c.nodes[1].args[slices.Index(c.nodes[1].args, "--raft")+1]
	u.sh(6, `taskrt secret worker cluster.secret > worker.secret; chmod 600 worker.secret; taskrt token enable-root --cluster-secret worker.secret --node `+port)
	u.sh(3, `taskrt secret new > other.secret; chmod 600 other.secret; taskrt token enable-root --cluster-secret other.secret --node `+port)
	u.sh(0, `taskrt token enable-root --cluster-secret cluster.secret --node 127.0.0.1:1,`+port)
	u.knows("root.token", true)
	u.sh(0, `taskrt cluster status --context prod`)
}

// TestContextLearns: a context goes on while the cluster secret is replaced, because it learns the new authority from servers that the former one
// vouches for (SPEC A2, A3). After that the former secret may go.
func TestContextLearns(t *testing.T) {
	t.Parallel()
	secret, former := drawSecret(t)
	_, next := drawSecret(t)
	c := newCluster(t, "--cluster-secret", secret, "--worker", "none")
	u := newUser(c)
	u.sh(0, `taskrt context add prod --server "$SERVERS" --ca "$(taskrt secret ca `+secret+`)" --token-file <(taskrt token root --cluster-secret `+secret+`)`)
	u.sh(0, `umask 077; taskrt token create ann --role read > ann.token`)
	u.knows("ann.token", true)
	u.sh(0, `taskrt context add prod --replace --server "$SERVERS" --ca "$(taskrt secret ca `+secret+`)" --token-file ann.token`)
	for _, lines := range []string{former + next, next + former, next} {
		times := make([]int, len(c.nodes))
		for i, p := range c.nodes {
			times[i] = p.says("read the keys again")
		}
		writeSecret(t, secret, lines)
		for i, p := range c.nodes {
			c.eventually(p.id+" reads the keys again", func() bool { return p.says("read the keys again") > times[i] })
		}
		u.sh(0, `taskrt cluster status`)
	}
	pin, _ := u.sh(0, `taskrt secret ca `+secret)
	if kept, _ := u.sh(0, `taskrt context show`); !strings.Contains(kept, strings.TrimSpace(pin)) || strings.Count(kept, "sha256:") != 1 {
		t.Errorf("the context trusts\n%s\nthe authority is now %s", kept, pin)
	}
}

func absolute(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
