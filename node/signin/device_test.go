package signin

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/access"
)

// state is a log of one machine.
type state struct {
	t *testing.T
	m *task.Machine
}

func (s *state) Propose(_ context.Context, c task.Command) (task.Result, error) {
	rs, _ := s.m.Apply(task.Header{Index: s.m.Index() + 1, Term: 1, Now: 1000, LeaseNow: 5}, []task.Proposal{{Command: c}})
	if rs[0].Code != task.OK {
		s.t.Errorf("%T: %+v", c, rs[0])
	}
	return rs[0], nil
}

func (s *state) Read(_ context.Context, fn func(*task.Machine) bool) error {
	for fn(s.m) {
	}
	return nil
}
func (s *state) Local(fn func(*task.Machine))        { fn(s.m) }
func (s *state) Await(context.Context, uint64) error { return nil }
func (s *state) Done(context.Context) bool           { return false }

// deviceIssuer is an issuer with a device flow, which answers what the test says.
type deviceIssuer struct {
	*httptest.Server
	issuer
	mu      sync.Mutex
	answers map[string]string // by path: status and body
	forms   map[string]string // by path: what was asked last
	asked   int
}

func newDeviceIssuer(t *testing.T) *deviceIssuer {
	t.Helper()
	i := &deviceIssuer{answers: map[string]string{}, forms: map[string]string{}}
	i.key = newKey(t)
	i.server = &oidctest.Server{PublicKeys: []oidctest.PublicKey{{PublicKey: i.key.Public(), KeyID: "one", Algorithm: oidc.ES256}}, Algorithms: []string{oidc.ES256}}
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/.well-known/openid-configuration":
			_ = json.NewEncoder(w).Encode(map[string]any{
				"issuer": i.URL, "authorization_endpoint": i.URL + "/auth", "token_endpoint": i.URL + "/token", "jwks_uri": i.URL + "/keys",
				"device_authorization_endpoint": i.URL + "/device", "id_token_signing_alg_values_supported": []string{"ES256"}, "scopes_supported": []string{"openid", "groups", "payroll"},
			})
		case "/device", "/token":
			_ = r.ParseForm()
			i.mu.Lock()
			defer i.mu.Unlock()
			i.asked++
			i.forms[r.URL.Path] = r.PostForm.Encode()
			status, body, _ := strings.Cut(i.answers[r.URL.Path], " ")
			w.WriteHeader(map[string]int{"200": 200, "400": 400, "302": 302, "500": 500}[status])
			_, _ = w.Write([]byte(body))
		default:
			i.server.ServeHTTP(w, r)
		}
	}))
	i.issuer.Server = i.Server
	i.server.SetIssuer(i.URL)
	t.Cleanup(i.Close)
	return i
}

func (i *deviceIssuer) says(path, answer string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.answers[path] = answer
}

// deskOf is a desk of a cluster that takes the word of an issuer.
func deskOf(t *testing.T, i *deviceIssuer) *Desk {
	t.Helper()
	s := &state{t, task.NewMachine()}
	for level := task.FirstLevel; level < task.MembersLevel; level++ {
		_, _ = s.Propose(t.Context(), task.RaiseLevel{Level: level + 1})
	}
	settings, err := json.Marshal([]auth.Issuer{{
		Name: "corp", URL: i.URL, ClientID: "taskrt", Session: api.Duration(auth.MaxSession), Rules: []auth.IssuerRule{{Claim: "groups", Value: "ops", Roles: []string{"operate"}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = s.Propose(t.Context(), task.SetSignIn{Settings: string(settings)})
	return New(s)
}

const begins = `200 {"device_code":"d-1","user_code":"ABCD-EFGH","verification_uri":"https://id.example/device","interval":1,"expires_in":600}`

// TestDevice: a browser signs in by the device flow: it gets a code, waits until somebody has confirmed it, and then a session by the rules of the
// issuer (SPEC A7).
func TestDevice(t *testing.T) {
	i := newDeviceIssuer(t)
	d := deskOf(t, i)
	i.says("/device", begins)
	begun, err := d.BeginDevice(t.Context(), "corp")
	if err != nil || *begun != (auth.Device{URL: "https://id.example/device", Code: "ABCD-EFGH", Device: "d-1", EveryMS: 5000, UntilMS: 600_000}) {
		t.Fatalf("%+v, %v", begun, err)
	}
	if form := i.forms["/device"]; form != "client_id=taskrt&scope=openid+groups" { // of those that it has, what rules look at
		t.Errorf("asked for %s", form)
	}
	i.says("/token", `400 {"error":"authorization_pending"}`)
	if made, err := d.FinishDevice(t.Context(), "corp", "d-1"); made != nil || err != nil {
		t.Errorf("before the code is confirmed: %+v, %v", made, err)
	}
	i.says("/token", `400 {"error":"slow_down"}`)
	if _, err := d.FinishDevice(t.Context(), "corp", "d-1"); api.CodeOf(err) != api.CodeRateLimited {
		t.Errorf("asked too often: %v", err)
	}
	id, _ := json.Marshal(i.token(i.key, "one", map[string]any{"groups": []string{"ops"}}))
	i.says("/token", `200 {"access_token":"x","id_token":`+string(id)+`}`)
	made, err := d.FinishDevice(t.Context(), "corp", "d-1")
	if err != nil || made.Subject != "corp/ann" || !strings.HasPrefix(made.Credential, "trt_") || len(made.Roles) != 1 || made.Roles[0] != access.Operate.Names()[0] {
		t.Errorf("%+v, %v", made, err)
	}
	if form := i.forms["/token"]; form != "client_id=taskrt&device_code=d-1&grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code" {
		t.Errorf("asked by %s", form)
	}
	id, _ = json.Marshal(i.token(newKey(t), "one", nil))
	i.says("/token", `200 {"id_token":`+string(id)+`}`)
	if _, err := d.FinishDevice(t.Context(), "corp", "d-1"); api.CodeOf(err) != api.CodeSignInRefused {
		t.Errorf("a token by somebody else: %v", err)
	}
}

// TestDeviceRefused: what an issuer answers leads a browser to no script, and every way in which it can fail has a code.
func TestDeviceRefused(t *testing.T) {
	i := newDeviceIssuer(t)
	d := deskOf(t, i)
	for answer, code := range map[string]string{
		`400 {"error":"unauthorized_client","error_description":"no device flow for it"}`: api.CodeSignInRefused,
		strings.Replace(begins, "https://id.example/device", "javascript:alert(1)", 1):    api.CodeIssuerAway,
		strings.Replace(begins, "https://id.example/device", "/device", 1):                api.CodeIssuerAway,
		strings.Replace(begins, `"d-1"`, `""`, 1):                                         api.CodeIssuerAway,
		`500 x`:      api.CodeIssuerAway,
		`302 {}`:     api.CodeIssuerAway,
		`200 <html>`: api.CodeIssuerAway,
	} {
		i.says("/device", answer)
		if begun, err := d.BeginDevice(t.Context(), "corp"); begun != nil || api.CodeOf(err) != code {
			t.Errorf("%s: %+v, %v", answer, begun, err)
		}
	}
	for answer, code := range map[string]string{
		`400 {"error":"access_denied"}`: api.CodeSignInRefused, `400 {"error":"expired_token"}`: api.CodeSignInRefused, `500 x`: api.CodeIssuerAway, `200 {}`: api.CodeInvalidField,
	} {
		i.says("/token", answer)
		if made, err := d.FinishDevice(t.Context(), "corp", "d-1"); made != nil || api.CodeOf(err) != code {
			t.Errorf("%s: %+v, %v", answer, made, err)
		}
	}
	if _, err := d.BeginDevice(t.Context(), "nobody"); api.CodeOf(err) != api.CodeIssuerNotFound {
		t.Errorf("begun at nobody: %v", err)
	}
	if _, err := d.FinishDevice(t.Context(), "nobody", "d-1"); api.CodeOf(err) != api.CodeIssuerNotFound {
		t.Errorf("finished at nobody: %v", err)
	}
	for _, device := range []string{"", strings.Repeat("x", auth.MaxDevice+1)} {
		if _, err := d.FinishDevice(t.Context(), "corp", device); api.CodeOf(err) != api.CodeSignInRefused {
			t.Errorf("a code of %d bytes: %v", len(device), err)
		}
	}
}

// TestDevicesAreBounded: however many browsers sign in, a node asks an issuer at a bounded rate.
func TestDevicesAreBounded(t *testing.T) {
	i := newDeviceIssuer(t)
	d := deskOf(t, i)
	i.says("/token", `400 {"error":"authorization_pending"}`)
	d.provider(i.URL).devices.SetLimit(0) // no time passes
	refused := 0
	for range 3 * deviceBurst {
		if _, err := d.FinishDevice(t.Context(), "corp", "d-1"); api.CodeOf(err) == api.CodeRateLimited {
			refused++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if i.asked != deviceBurst || refused != 2*deviceBurst {
		t.Errorf("%d questions, %d refused", i.asked, refused)
	}
}
