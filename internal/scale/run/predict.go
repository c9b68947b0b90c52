package main

import (
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/taskrt/taskrt/internal/scale"
)

// predict prints what one cluster would do.
func predict(flags *flag.FlagSet, args []string, stdout io.Writer) error {
	var c scale.Cluster
	var w scale.Work
	flags.IntVar(&c.Nodes, "nodes", 3, "nodes of the cluster")
	cores := flags.Float64("cores", 4, "cores of each node")
	flags.DurationVar(&c.Write, "write", time.Millisecond, "a durable write of the log: two syncs by default, one with --log-store wal")
	flags.DurationVar(&c.RTT, "rtt", 200*time.Microsecond, "a round trip between nodes")
	flags.DurationVar(&c.Near, "near", 200*time.Microsecond, "a round trip between a caller and its node")
	flags.Float64Var(&c.Mbit, "mbit", 1000, "megabits per second that a node can send")
	flags.IntVar(&c.Workers, "workers", 0, "processes of taskrt worker; 0: the nodes run tasks")
	flags.IntVar(&c.Slots, "slots", 0, "of each worker; 0: four for each core")
	workerCores := flags.Float64("worker-cores", 4, "cores of each worker")
	kind := flags.String("load", "submit", "submit, e2e or drain")
	flags.IntVar(&w.Callers, "callers", 256, "at a time")
	flags.IntVar(&w.Batch, "batch", 1, "tasks of a request")
	flags.IntVar(&w.Params, "params", 256, "bytes of a task")
	flags.DurationVar(&w.Guest, "guest", 0, "how long a guest takes")
	flags.BoolVar(&w.HTTP, "http", false, "no streams")
	if err := flags.Parse(args); err != nil {
		return err
	}
	w.Kind = scale.Kind(*kind)
	if f := flags.Lookup("speed"); f != nil {
		c.Speed, _ = f.Value.(flag.Getter).Get().(float64)
	}
	each := *cores
	c.Hosts = scale.Apart(c.Nodes, *cores)
	if c.Workers > 0 {
		each, c.Hosts = *workerCores, scale.Beside(c.Nodes, *cores, c.Workers, *workerCores)
	} else {
		c.Workers = c.Nodes
	}
	if c.Slots == 0 {
		c.Slots = int(4 * each)
	}
	costs, err := scale.Measured()
	if err != nil {
		return err
	}
	p, err := costs.Predict(c, w)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%.0f tasks a second", p.Rate)
	if p.P50 > 0 {
		fmt.Fprintf(stdout, ", p50 %v", p.P50.Round(10*time.Microsecond))
	}
	fmt.Fprintf(stdout, "\nlimit: %s\n", p.Limit)
	for _, u := range p.Use {
		fmt.Fprintf(stdout, "%5.1f %% %s\n", 100*u.Part, u.Name)
	}
	return nil
}
