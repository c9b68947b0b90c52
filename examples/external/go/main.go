// Command worker runs tasks of an external behavior of a taskrt cluster with package extworker. The package accepts tasks, keeps their
// leases and reports; this program only adds the function that does the work.
//
//	worker -server http://127.0.0.1:7070 -behavior pin
//
// A cluster with a secret wants to know who comes. Its workers need a token with the role work, and whom to trust:
//
//	worker -server https://10.0.0.1:7070 -ca sha256:… -token-file pin.token -behavior pin
//
// The program in ../python does the same without a library. Both may work for one behavior at the same time.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/extworker"
	"github.com/taskrt/taskrt/trust"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	flags := flag.NewFlagSet("worker", flag.ContinueOnError)
	servers := flags.String("server", "http://127.0.0.1:7070", "URLs of nodes, separated by commas")
	ca := flags.String("ca", os.Getenv("TASKRT_CA"), "whom to trust behind https: sha256:… as `taskrt secret ca` prints it, or a file of certificates; $TASKRT_CA")
	tokenFile := flags.String("token-file", os.Getenv("TASKRT_TOKEN_FILE"), "file with the token of this worker; $TASKRT_TOKEN_FILE, or the token itself in $TASKRT_TOKEN")
	behavior := flags.String("behavior", "pin", "whose tasks to run")
	name := flags.String("name", fmt.Sprintf("%s-%d", host, os.Getpid()), "of this worker, for people")
	slots := flags.Int("worker-slots", 1, "tasks at a time")
	rest := flags.Duration("rest", 0, "rest so long after each 10,000 PINs, to watch it work")
	if err := flags.Parse(args); err != nil {
		return err
	}
	config := client.Config{URLs: strings.Split(*servers, ",")}
	if err := prove(&config, *ca, *tokenFile); err != nil {
		return err
	}
	client, err := client.New(config)
	if err != nil {
		return err
	}
	defer client.Close()
	w, err := extworker.New(extworker.Config{
		Client: client, Behavior: *behavior, Worker: *name, Concurrency: *slots,
		Grace: time.Second, // then what runs goes elsewhere, from its checkpoint
		Handler: func(ctx context.Context, t *extworker.Task) (any, error) {
			fmt.Println("begin", t.ID, "attempt", t.Attempt)
			found, err := findPIN(ctx, t, *rest)
			if err != nil {
				fmt.Printf("end %s: %v\n", t.ID, err)
				return nil, err
			}
			fmt.Printf("end %s: SUCCESS\n", t.ID)
			return found, nil
		},
	})
	if err != nil {
		return err
	}
	return w.Run(ctx)
}

// prove says whom the client trusts, and by which token it asks. Both may be "": the cluster is open.
func prove(config *client.Config, ca, tokenFile string) (err error) {
	if ca != "" && !strings.HasPrefix(ca, "sha256:") {
		text, err := os.ReadFile(ca)
		if err != nil {
			return err
		}
		ca = string(text)
	}
	if ca != "" {
		if config.TLS, err = trust.Client(ca); err != nil {
			return fmt.Errorf("-ca: %w", err)
		}
	}
	if token := os.Getenv("TASKRT_TOKEN"); token != "" {
		config.Token = client.StaticToken(token)
	}
	if tokenFile != "" {
		file, err := trust.OpenTokenFile(tokenFile)
		if err != nil {
			return err
		}
		config.Token = file.Text // read again when it has changed
	}
	return nil
}

// found is the result of a task.
type found struct {
	PIN  string `json:"pin"`
	From int    `json:"from"` // where the last attempt began
}

// checkpoint is where another attempt goes on.
type checkpoint struct {
	Next int `json:"next"`
}

// findPIN finds the PIN of digits digits with this SHA-256, by trying all.
func findPIN(ctx context.Context, t *extworker.Task, rest time.Duration) (any, error) {
	var params struct {
		SHA256 string `json:"sha256"`
		Digits int    `json:"digits"`
	}
	if err := t.Params(&params); err != nil {
		return nil, badParams(err)
	}
	wanted, err := hex.DecodeString(params.SHA256)
	if err != nil || params.Digits < 1 || params.Digits > 9 {
		return nil, badParams(errors.New("sha256 must be hex, digits 1 to 9"))
	}
	all := 1
	for range params.Digits {
		all *= 10
	}
	var start checkpoint
	if len(t.Task.Checkpoint) > 0 {
		if err := json.Unmarshal(t.Task.Checkpoint, &start); err != nil {
			return nil, err
		}
	}
	saved := time.Now()
	for n := start.Next; n < all; n++ {
		if n%10_000 == 0 {
			if err := reached(ctx, t, n, &saved, rest); err != nil {
				return nil, err
			}
		}
		pin := fmt.Sprintf("%0*d", params.Digits, n)
		if sum := sha256.Sum256([]byte(pin)); string(sum[:]) == string(wanted) {
			return found{pin, start.Next}, nil
		}
	}
	return nil, extworker.Code(extworker.Permanent(fmt.Errorf("no PIN of %d digits has this hash", params.Digits)), "not_found")
}

func badParams(err error) error { return extworker.Code(extworker.Permanent(err), "bad_params") }

// reached tells how far it is, saves a checkpoint every second, rests, and returns why the attempt has to end, if so.
func reached(ctx context.Context, t *extworker.Task, n int, saved *time.Time, rest time.Duration) error {
	if err := t.Progress(map[string]int{"tried": n}); err != nil {
		return err
	}
	if time.Since(*saved) >= time.Second {
		if err := t.Checkpoint(checkpoint{n}); err != nil {
			return err
		}
		*saved = time.Now()
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(rest):
		return nil
	}
}
