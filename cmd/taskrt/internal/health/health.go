// Package health asks the server that runs with the same settings how it is. It is for supervisors that ask by starting a command, as supervisors of
// containers do.
package health

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/taskrt/taskrt/trust"
)

// The questions.
const (
	Live  = "live"  // does the process answer? It does without a leader, too
	Ready = "ready" // can the node serve? Not without a leader
)

// patience bounds one question. A supervisor gives up by itself, but leaves the command running.
const patience = 20 * time.Second

// maxAnswer bounds what is shown of an answer.
const maxAnswer = 4 << 10

// Server is what a server was told of its port for clients.
type Server struct {
	HTTP   string // HOST:PORT where it listens
	Secret string // file with the cluster secret; "": none
	Cert   string // file with a certificate of one's own; "": none
}

// paths are where the questions are asked.
var paths = map[string]string{Live: "/healthz", Ready: "/readyz"}

// Check returns an error if a question does not exist, or if it is not known where to ask it.
func Check(s Server, question string) error {
	if paths[question] == "" {
		return fmt.Errorf("must be %s or %s, not %q", Live, Ready, question)
	}
	if _, port, _ := net.SplitHostPort(s.HTTP); port == "0" {
		return fmt.Errorf("cannot ask %s: nobody knows which port it has become", s.HTTP)
	}
	return nil
}

// Ask returns nil if the server says yes. If the server has a certificate, no other process that listens at its address is believed.
func Ask(ctx context.Context, s Server, question string) error {
	host, port, err := net.SplitHostPort(s.HTTP)
	if err != nil {
		return err
	}
	switch host { // by number: a container may have no file that says what localhost is
	case "", "0.0.0.0":
		host = "127.0.0.1"
	case "::":
		host = "::1"
	}
	transport := &http.Transport{DisableKeepAlives: true}
	scheme := "http"
	if transport.TLSClientConfig, err = s.tls(); err != nil {
		return err
	}
	if transport.TLSClientConfig != nil {
		scheme = "https"
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+net.JoinHostPort(host, port)+paths[question], nil)
	if err != nil {
		return err
	}
	res, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("not %s: %s: %s", question, res.Status, strings.TrimSpace(string(body)))
	}
	return nil
}

// tls says whom to believe; nil: the server speaks without TLS.
func (s Server) tls() (*tls.Config, error) {
	if s.Cert != "" {
		return sameCertificate(s.Cert)
	}
	if s.Secret == "" {
		return nil, nil //nolint:nilnil // no TLS is an answer
	}
	secrets, err := trust.ReadSecrets(s.Secret)
	if err != nil {
		return nil, err
	}
	var pins []string
	for _, one := range secrets {
		pins = append(pins, one.APIPin())
	}
	return trust.Client(strings.Join(pins, ","))
}

// sameCertificate believes who shows the first certificate of a file. Its names are not the names of this machine's loopback, and this machine may
// not know its authority.
func sameCertificate(file string) (*tls.Config, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var first *pem.Block
	for first == nil || first.Type != "CERTIFICATE" {
		if first, text = pem.Decode(text); first == nil {
			return nil, fmt.Errorf("%s: no certificate is in it", file)
		}
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection asks for the very certificate
		VerifyConnection: func(state tls.ConnectionState) error {
			if !bytes.Equal(state.PeerCertificates[0].Raw, first.Bytes) {
				return errors.New("who answers has another certificate than " + file)
			}
			return nil
		},
	}, nil
}
