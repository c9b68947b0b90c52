package health

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSameCertificate: with a certificate of one's own, whoever shows it is the server, whatever its names; nobody else is.
func TestSameCertificate(t *testing.T) {
	t.Parallel()
	asked := ""
	server := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked = r.URL.Path }))
	defer server.Close()
	dir := t.TempDir()
	write := func(name string, text string) string {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	der := server.Certificate().Raw
	block := func(kind string, b []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}))
	}
	own := write("own", block("PARAMETERS", nil)+block("CERTIFICATE", der)+block("CERTIFICATE", []byte("of an authority")))
	addr := strings.TrimPrefix(server.URL, "https://")
	if err := Ask(t.Context(), Server{HTTP: addr, Cert: own, Secret: "not looked at"}, Ready); err != nil || asked != "/readyz" {
		t.Errorf("%q, %v", asked, err)
	}
	other := write("other", block("CERTIFICATE", append([]byte{0}, der...)))
	if err := Ask(t.Context(), Server{HTTP: addr, Cert: other}, Live); err == nil || !strings.Contains(err.Error(), "another certificate") {
		t.Errorf("another one's: %v", err)
	}
	if err := Ask(t.Context(), Server{HTTP: addr, Cert: write("empty", "nothing")}, Live); err == nil || !strings.Contains(err.Error(), "no certificate") {
		t.Errorf("an empty file: %v", err)
	}
	if err := Ask(t.Context(), Server{HTTP: addr, Cert: filepath.Join(dir, "none")}, Live); err == nil {
		t.Error("no file")
	}
}
