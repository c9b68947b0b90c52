package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/internal/leash"
)

// TestForeignClients: what is no Go program connects to a cluster by the certificate of its authority alone, as docs/use-the-api.md says: curl,
// Python, Node.js and Chromium. Without that certificate none of them does (SPEC A3).
func TestForeignClients(t *testing.T) {
	t.Parallel()
	secret, _ := drawSecret(t)
	c := newCluster(t, "--cluster-secret", secret, "--worker", "none")
	token, url := filepath.Join(t.TempDir(), "ci.token"), c.url(c.nodes[1])
	writeSecret(t, token, c.draw("ci", "default", "read"))
	stranger, _ := drawSecret(t)
	other := authorities(t, stranger)

	const header = `-H @<(printf 'Authorization: Bearer '; cat "$3") "$2"/v1/self`
	const python = `import ssl, sys, urllib.request
ca, url, token = sys.argv[1:]
context = ssl.create_default_context(cafile=ca)
request = urllib.request.Request(url + "/v1/self", headers={"Authorization": "Bearer " + open(token).read().strip()})
print(urllib.request.urlopen(request, context=context).read().decode())`
	const node = `const [url, token] = process.argv.slice(1);
fetch(url + "/v1/self", {headers: {authorization: "Bearer " + require("fs").readFileSync(token, "utf8").trim()}})
	.then(r => r.text()).then(console.log, e => { console.error(e.cause || e); process.exit(1) })`
	for _, client := range []struct {
		program string
		command func(ca string) []string
	}{
		{"curl", func(ca string) []string {
			return []string{"bash", "-c", `curl -sS --cacert "$1" ` + header, "curl", ca, url, token}
		}},
		{"python3", func(ca string) []string { return []string{"python3", "-c", python, ca, url, token} }},
		{"node", func(ca string) []string {
			return []string{"env", "NODE_EXTRA_CA_CERTS=" + ca, "node", "-e", node, url, token}
		}},
	} {
		t.Run(client.program, func(t *testing.T) {
			if _, err := exec.LookPath(client.program); err != nil {
				t.Skip("SKIPPED, NOT TESTED: ", err)
			}
			run := func(ca string) (string, error) {
				args := client.command(ca)
				out, err := leash.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput()
				return string(out), err
			}
			if out, err := run(c.ca); err != nil || !strings.Contains(out, `"name":"ci"`) {
				t.Errorf("%v: %s", err, out)
			}
			if out, err := run(other); err == nil || strings.Contains(out, `"name"`) {
				t.Errorf("it takes the certificate of another cluster: %v: %s", err, out)
			}
		})
	}
	t.Run("chromium", func(t *testing.T) {
		browser := findBrowser(t)
		if got := open(t, browser, c.ca, url+"/healthz"); !strings.Contains(got, "ok") {
			t.Errorf("Chromium, which trusts the authority, shows %q", got)
		}
		if got := open(t, browser, other, url+"/healthz"); strings.Contains(got, "ok") {
			t.Errorf("Chromium, which trusts another authority, shows %q", got)
		}
	})
}

// open returns what Chromium makes of a URL when it trusts the authorities in ca, which an administrator has added by certutil.
func open(t *testing.T, browser, ca, url string) string {
	t.Helper()
	certutil, err := exec.LookPath("certutil")
	if err != nil {
		t.Skip("SKIPPED, NOT TESTED: apt-get install libnss3-tools: ", err)
	}
	home := t.TempDir()
	db := filepath.Join(home, ".pki", "nssdb")
	if err := os.MkdirAll(db, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"-d", "sql:" + db, "-N", "--empty-password"},
		{"-d", "sql:" + db, "-A", "-t", "C,,", "-n", "taskrt", "-i", ca},
	} {
		if out, err := leash.CommandContext(t.Context(), certutil, args...).CombinedOutput(); err != nil {
			t.Fatalf("certutil: %v: %s", err, out)
		}
	}
	l, err := leash.New()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Kill()
	cmd := leash.Command(browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--user-data-dir="+filepath.Join(home, "data"), "--dump-dom", url)
	cmd.Env = append(os.Environ(), "HOME="+home)
	l.Tie(cmd) // instead: the browser's children end before its directory goes
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("chromium: %v", err)
	}
	return string(out)
}
