package extworker_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/extworker"
)

// A program that resizes pictures for a cluster. The behavior was defined with
//
//	curl -X PUT http://localhost:7070/v1/behaviors/resize -d '{"kind":"external","lease":"30s"}'
func Example() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	client, err := client.New(client.Config{URLs: []string{"http://localhost:7070"}})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	w, err := extworker.New(extworker.Config{
		Client: client, Behavior: "resize", Worker: "laptop-1", Concurrency: 4, Handler: resize,
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := w.Run(ctx); err != nil {
		log.Fatal(err)
	}
}

var errNotAPicture = errors.New("not a picture")

// resize makes pictures smaller, one after the other.
func resize(ctx context.Context, t *extworker.Task) (any, error) {
	var p struct {
		URLs []string `json:"urls"`
		Size int      `json:"size"`
	}
	if err := t.Params(&p); err != nil {
		return nil, extworker.Permanent(err)
	}
	for i, url := range p.URLs {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx) // halted, cancelled or stopping: in any case the handler ends here
		}
		if err := resizeOne(ctx, url, p.Size); errors.Is(err, errNotAPicture) {
			return nil, extworker.Code(extworker.Permanent(err), "not_a_picture")
		} else if err != nil {
			return nil, err // the behavior's policy says whether and when the task is retried
		}
		if err := t.Progress(map[string]int{"done": i + 1, "of": len(p.URLs)}); err != nil {
			return nil, err
		}
	}
	return map[string]int{"resized": len(p.URLs)}, nil
}

func resizeOne(_ context.Context, url string, size int) error {
	fmt.Println(url, size)
	return nil
}
