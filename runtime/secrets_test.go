package runtime

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime/grants"
	"github.com/taskrt/taskrt/runtime/manifest"
	"github.com/taskrt/taskrt/runtime/upload"
)

const token = "correct-horse-battery"

// granting returns an engine whose operator grants behaviors "secrets*" in namespace "default" the secrets "k*".
func granting(t *testing.T) *Engine {
	t.Helper()
	dir := t.TempDir()
	for name, value := range map[string]string{"k": token + "\n", "kshort": "seven77", "kept": "", "other": "never told"} { // order-free: files
		if err := os.WriteFile(filepath.Join(dir, name), []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	g, err := grants.Parse([]byte(`{"secrets_dir":".","grants":[{"namespace":"default","behavior":"secrets*","secrets":["k*"]}]}`), dir)
	if err != nil {
		t.Fatal(err)
	}
	return newEngine(t, Config{Grants: g})
}

func infoOf(t *testing.T, namespace, behavior string) []byte {
	t.Helper()
	info, err := json.Marshal(abi.TaskInfo{Namespace: namespace, Behavior: behavior})
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// TestSecretsAreGranted: secrets are granted by namespace, behavior and name, at each read (SPEC B6).
func TestSecretsAreGranted(t *testing.T) {
	m := load(t, granting(t), guestFile(t, "secrets"))
	for _, tt := range []struct {
		namespace, behavior, name, want string
		status                          abi.Errno
	}{
		{"default", "secrets", "k", token + "\n", 0},
		{"default", "secrets-name", "kept", "", 0},
		{"default", "secrets", "other", "", abi.EDENIED},
		{"default", "secrets", "absent", "", abi.EDENIED},
		{"default", "secrets", "kabsent", "", abi.ENOENT},
		{"default", "secrets", "../k", "", abi.EINVAL},
		{"default", "secrets", "", "", abi.EINVAL},
		{"tenant", "secrets", "k", "", abi.EDENIED},
		{"default", "mail", "k", "", abi.EDENIED},
	} {
		out := m.Run(t.Context(), Attempt{Params: []byte("=" + tt.name), Info: infoOf(t, tt.namespace, tt.behavior)}, &fakeHost{})
		want := tt.want
		if tt.status != 0 {
			want = string(binary.LittleEndian.AppendUint32(nil, uint32(tt.status)))
		}
		if out.Kind != Succeeded || string(out.Result) != want {
			t.Errorf("%s/%s %q: %q, %+v", tt.namespace, tt.behavior, tt.name, out.Result, out)
		}
	}
	if out := load(t, newEngine(t, Config{}), guestFile(t, "secrets")).Run(t.Context(), Attempt{Params: []byte("=k"), Info: infoOf(t, "default", "secrets")}, &fakeHost{}); int32(binary.LittleEndian.Uint32(out.Result)) != int32(abi.EDENIED) {
		t.Errorf("without any grant: %+v", out)
	}
}

// TestSecretsAreNotTold: a secret does not appear in the log, notes, standard error or error of the attempt that
// reads it.
func TestSecretsAreNotTold(t *testing.T) {
	m := load(t, granting(t), guestFile(t, "secrets"))
	host := &fakeHost{}
	out := m.Run(t.Context(), Attempt{Params: []byte("!k"), Info: infoOf(t, "default", "secrets")}, host)
	told := fmt.Sprintf("%+v %s %s %s %v", out, out.Message, out.Details, out.Stderr, host.logs)
	if out.Kind != Failed || strings.Contains(told, token) || !strings.Contains(out.Message, "got [secret k]") ||
		!strings.Contains(string(out.Stderr), "got [secret k]") || !strings.Contains(fmt.Sprint(host.logs), "got [secret k]") {
		t.Errorf("told: %s", told)
	}
	out = m.Run(t.Context(), Attempt{Params: []byte("!kshort"), Info: infoOf(t, "default", "secrets")}, host)
	if !strings.Contains(out.Message, "got seven77") {
		t.Errorf("a short secret is taken out of texts that may say anything: %+v", out)
	}
	out = m.Run(t.Context(), Attempt{Params: []byte("!kept"), Info: infoOf(t, "default", "secrets")}, host)
	if out.Message != "got " {
		t.Errorf("an empty secret: %+v", out)
	}
}

// TestSecretsNeedBoth: the manifest must ask for secrets and the operator must grant them, or there are none (SPEC
// B6).
func TestSecretsNeedBoth(t *testing.T) {
	e := granting(t)
	wasm := guestFile(t, "secrets")
	push := func(requires, behavior string) (*Inspected, error) {
		m, err := manifest.Parse(fmt.Appendf(nil, `{"schema":1,"requires":[%s],"behaviors":[{"name":%q}]}`, requires, behavior))
		if err != nil {
			t.Fatal(err)
		}
		return e.Inspect(t.Context(), wasm, m, "")
	}
	_, err := push(``, "secrets")
	if bad, ok := errors.AsType[*upload.Error](err); !ok || bad.Code != upload.BadManifest || bad.Field != "requires" || !strings.Contains(bad.Message, abi.ModuleSecrets) {
		t.Errorf("imported, not required: %v", err)
	}
	for behavior, granted := range map[string]bool{"secrets": true, "mail": false} {
		in, err := push(`"random","secrets"`, behavior)
		if err != nil {
			t.Fatal(err)
		}
		err = e.CheckGranted("default", &in.Manifest)
		bad, ok := errors.AsType[*upload.Error](err)
		if ok == granted || ok && (bad.Code != upload.CapabilityNotGranted || bad.Field != "requires[1]" || !strings.Contains(bad.Message, "mail")) {
			t.Errorf("%s: %v", behavior, err)
		}
		if e.CheckGranted("tenant", &in.Manifest) == nil || newEngine(t, Config{}).CheckGranted("default", &in.Manifest) == nil {
			t.Errorf("%s is granted in another namespace, or without grants", behavior)
		}
	}
}

// TestSecretsMisused: wrong pointers and lengths are refused, and so is a read before the attempt.
func TestSecretsMisused(t *testing.T) {
	m := load(t, granting(t), guestFile(t, "secrets"))
	run := func(n int32) Outcome {
		return m.Run(t.Context(), Attempt{Behavior: n, Info: infoOf(t, "default", "secrets")}, &fakeHost{})
	}
	for n, what := range []string{1: "get: pointer 0x40000", 2: "get: pointer 0x3fffc", 3: "get: pointer 0x10"} {
		if what == "" {
			continue
		}
		if out := run(int32(n)); out.Code != CodeTrap || !strings.Contains(out.Message, what) {
			t.Errorf("%d: %+v, want %q", n, out, what)
		}
	}
	half := []byte(token[:3] + "\x00")
	for n, want := range map[int32]int32{
		4: int32(abi.EINVAL), 5: int32(abi.EDENIED), 6: int32(len(token) + 1), 7: int32(binary.LittleEndian.Uint32(half)),
	} {
		if out := run(n); out.Kind != Succeeded || int32(binary.LittleEndian.Uint32(out.Result)) != want {
			t.Errorf("%d: %+v, want %d", n, out, want)
		}
	}
}

// TestSecretsOfOneAttempt: a secret is the same all through an attempt, and unknown to the next one in the same instance.
func TestSecretsOfOneAttempt(t *testing.T) {
	m := load(t, newEngine(t, Config{}), guestFile(t, "secrets"))
	asked := 0
	a := Attempt{Params: []byte("=k"), Secrets: func(string) ([]byte, error) {
		asked++
		return fmt.Appendf(nil, "secret number %d", asked), nil
	}}
	for n := range 3 {
		if out := m.Run(t.Context(), a, &fakeHost{}); string(out.Result) != fmt.Sprintf("secret number %d", n+1) {
			t.Errorf("%+v", out)
		}
	}
	a.Secrets = func(string) ([]byte, error) { return nil, errors.New("the disk is gone") }
	if out := m.Run(t.Context(), a, &fakeHost{}); int32(binary.LittleEndian.Uint32(out.Result)) != int32(abi.EAGAIN) {
		t.Errorf("%+v", out)
	}
}

// hiding returns the log of an attempt that has read these secrets, in this order.
func hiding(values ...string) *attemptLog {
	l := &attemptLog{host: &fakeHost{}, limit: 1 << 20, left: 1 << 20}
	for i, v := range values {
		l.keep(secret{fmt.Sprint("s", i), []byte(v)})
	}
	return l
}

// TestSecretsAreHiddenInJSON: secrets are hidden however an error's JSON writes them.
func TestSecretsAreHiddenInJSON(t *testing.T) {
	for _, value := range []string{"plain-secret-1", "p<ssw0rd&more", `quo"te-and\slash`, "-----BEGIN KEY-----\nabcdef\n-----END KEY-----", "1234567890"} {
		inner := map[string]any{value: []any{"with " + value, 7, nil, true}, "n": json.Number("1234567890")}
		detail, err := json.Marshal(map[string]any{"code": "x", "message": "auth with " + value + " failed", "details": inner})
		if err != nil {
			t.Fatal(err)
		}
		out := (&guest{log: *hiding(value), detail: detail}).guestError()
		var details map[string]any
		if err := json.Unmarshal(out.Details, &details); err != nil {
			t.Fatal(err)
		}
		told := fmt.Sprint(out.Message, details)
		if strings.Contains(told, value) || out.Code != "x" || out.Message != "auth with [secret s0] failed" || !strings.Contains(told, "with [secret s0] 7 <nil> true") {
			t.Errorf("%q: %s", value, told)
		}
	}
}

// TestSecretsInOneAnother: of two secrets of which one contains the other, the longer one is hidden as a whole,
// whichever was read first.
func TestSecretsInOneAnother(t *testing.T) {
	for _, values := range [][]string{{"abcdefgh", "abcdefgh-and-the-rest"}, {"abcdefgh-and-the-rest", "abcdefgh"}} {
		if got := string(hiding(values...).hide([]byte("token abcdefgh-and-the-rest, abcdefgh"))); strings.Contains(got, "abc") || strings.Contains(got, "rest") {
			t.Errorf("%v: %q", values, got)
		}
	}
}

// TestSecretsInTwoWrites: a secret that comes in two writes is hidden in its line, and at the end of standard error
// that is kept with a failure.
func TestSecretsInTwoWrites(t *testing.T) {
	l := hiding(token)
	w := &lineWriter{log: l, level: abi.LogWarn, keep: StderrTail}
	for _, part := range []string{"key " + token[:7], token[7:] + "\n"} {
		w.write([]byte(part))
	}
	if told := fmt.Sprint(string(w.last()), l.host.(*fakeHost).logs); strings.Contains(told, token) || !strings.Contains(told, "key [secret s0]") {
		t.Error(told)
	}
}

// TestSecretsAcrossACut: a line without end is cut into messages, and guests write in pieces; no cut goes through a
// secret.
func TestSecretsAcrossACut(t *testing.T) {
	long := strings.Repeat("s", 2*maxLine) + "t" // longer than a message
	for _, secret := range []string{token, long} {
		for before := maxLine - len(token) - 1; before <= maxLine+1; before++ {
			l := hiding(secret)
			w := &lineWriter{log: l, level: abi.LogWarn}
			line := strings.Repeat("x", before) + secret + " and " + secret[:len(secret)-1]
			for text := []byte(line); len(text) > 0; {
				n := min(len(text), maxLine)
				w.write(text[:n])
				text = text[n:]
			}
			w.flush()
			var told strings.Builder
			for _, m := range l.host.(*fakeHost).logs {
				told.WriteString(m.msg)
			}
			if want := strings.Repeat("x", before) + "[secret s0] and " + secret[:len(secret)-1]; told.String() != want {
				t.Fatalf("a secret of %d bytes behind %d others: %d bytes, want %d: %.300q", len(secret), before, told.Len(), len(want), told.String()[before-10:])
			}
		}
	}
}

// TestSecretsInTooMuch: of a message far over the log's limit, no part of a secret is told, wherever the message is
// cut.
func TestSecretsInTooMuch(t *testing.T) {
	long := strings.Repeat("s", grants.MaxSecret)
	for _, before := range []int{0, 50, 99, 100, 1000} {
		l := hiding(long)
		l.limit, l.left = 100, 100
		l.write(abi.LogInfo, []byte(strings.Repeat("x", before)+long+long[:grants.MaxSecret-1]+strings.Repeat("y", 1<<20)))
		if told := fmt.Sprint(l.host.(*fakeHost).logs); strings.Contains(told, "sss") || !l.full {
			t.Errorf("%d bytes before: %.200s", before, told)
		}
	}
}
