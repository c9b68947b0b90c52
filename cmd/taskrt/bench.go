package main

import (
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/cmd/taskrt/internal/keys"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/show"
	"github.com/taskrt/taskrt/internal/bench"
	"github.com/taskrt/taskrt/internal/terminal"
)

// benchPresets are the presets: what each measures, and its flags with their defaults.
var benchPresets = []struct {
	name, usage string
	flags       func() []cli.Flag
}{
	{"submit", "tasks submitted one by one; nothing runs", func() []cli.Flag {
		return []cli.Flag{benchCallers("1,16,256"), benchPipelined(), benchFor("10s"), benchWarmup(), benchRuns(3)}
	}},
	{"bulk", "tasks submitted in batches; nothing runs", func() []cli.Flag {
		return []cli.Flag{benchCallers("4"), benchBatch(), benchFor("10s"), benchWarmup(), benchRuns(3)}
	}},
	{"e2e", "callers that submit a task, wait for its result, and again", func() []cli.Flag {
		return []cli.Flag{benchCallers("100"), benchFor("10s"), benchWarmup(), benchRuns(3)}
	}},
	{"drain", "how fast tasks run that are queued already", func() []cli.Flag {
		return []cli.Flag{benchTasks(100_000), benchBatch(), benchRuns(3)}
	}},
	{"external", "queued tasks of a behavior without a module: workers accept and finish them over the API", func() []cli.Flag {
		return []cli.Flag{
			stringFlag("bench", "workers", "1,16,256", "at a time, each with one task; several numbers, separated by commas: a row each, and one for a program with as many slots"),
			benchTasks(50_000), benchBatch(), durationFlag("bench", "for", "5s", "how long a run measures, unless all tasks are done before"), benchRuns(3),
		}
	}},
	{"latency", "from submit to the guest's begin, and to the result, at a fixed rate", func() []cli.Flag {
		return []cli.Flag{stringFlag("bench", "rates", "100,1", "tasks per second, separated by commas: a row each"), benchFor("30s"), benchRuns(3)}
	}},
	{"failover", "the leader is killed, or stopped, under load: how long until tasks are done again", func() []cli.Flag {
		return []cli.Flag{benchWarmup(), benchRuns(20)}
	}},
	{"overload", "many times as much is offered as the cluster takes: what it admits, how fast, and its memory", func() []cli.Flag {
		return []cli.Flag{
			benchCallers("64"), intFlag("bench", "batch", 20, "tasks of a request"), benchFor("10s"), benchWarmup(), benchRuns(1),
			stringFlag("bench", "factor", "10", "how many times as much"),
		}
	}},
	{"workers", "a worker process is killed: how long until its tasks run elsewhere", func() []cli.Flag {
		return []cli.Flag{benchRuns(5)}
	}},
	{"restart", "a node is killed with tasks queued, and started again", func() []cli.Flag {
		return []cli.Flag{benchTasks(1_000_000), benchBatch(), benchRuns(3)}
	}},
	{"cold", "all nodes are killed with tasks queued, and started again at once: how long until there is a leader", func() []cli.Flag {
		return []cli.Flag{benchTasks(1_000_000), benchBatch(), benchRuns(3)}
	}},
	{"scale", "submits and runs with a thousand tasks queued, and with many", func() []cli.Flag {
		return []cli.Flag{
			benchTasks(1_000_000), benchBatch(), benchCallers("16"), benchFor("10s"), benchWarmup(),
			intFlag("bench", "drained", 20_000, "how many of them run"),
		}
	}},
	{"idle", "what the nodes use when there is nothing to do", func() []cli.Flag {
		return []cli.Flag{benchFor("30s"), durationFlag("bench", "warmup", "10s", "how long the nodes are left alone before"), benchRuns(1)}
	}},
	{"memory", "of the nodes, with tasks queued or done", func() []cli.Flag {
		return []cli.Flag{benchTasks(1_000_000), benchBatch(), boolFlag("bench", "finished", "the tasks are done, with results as long as their params")}
	}},
}

func benchCallers(value string) cli.Flag {
	return stringFlag("bench", "callers", value, "at a time, each with one request; several numbers, separated by commas: a row each")
}

func benchPipelined() cli.Flag {
	return boolFlag("bench", "pipelined", "the callers of a node share a client that puts into one request what they submit at the same time")
}

func benchFor(value string) cli.Flag {
	return durationFlag("bench", "for", value, "how long a run measures")
}

func benchWarmup() cli.Flag {
	return durationFlag("bench", "warmup", "2s", "how long a run goes on before it measures")
}

func benchRuns(value int) cli.Flag {
	return intFlag("bench", "runs", value, "how often each row is measured; figures are medians")
}

func benchBatch() cli.Flag { return intFlag("bench", "batch", 1000, "tasks in a batch") }

func benchTasks(value int) cli.Flag {
	return intFlag("bench", "tasks", value, "how many are queued")
}

func (p *program) benchCommand() *cli.Command {
	c := &cli.Command{
		Name: "bench", Usage: "measure a cluster: three processes started for it, or one that runs", Category: "cluster",
		Description: "Without --server three nodes are started on loopback in a temporary directory, and removed at the end. With it, tasks are\n" +
			"submitted in a namespace of their own, which is purged afterwards.",
	}
	for _, preset := range benchPresets {
		c.Subcommands = append(c.Subcommands, &cli.Command{
			Name: preset.name, Usage: preset.usage,
			Flags: append([]cli.Flag{
				stringFlag("bench", "server", "", "URLs of a running cluster's nodes, separated by commas; default: start one"),
				intFlag("bench", "payload", 256, "bytes of each task's params"),
				intFlag("bench", "worker-slots", 0, "of each node that is started; default four per CPU"),
				boolFlag("bench", "secure", "the nodes that are started have a cluster secret: TLS everywhere"),
				boolFlag("bench", "without-streams", "each request goes by HTTP, none over a stream"),
				keys.CAFlag(trustFlag), keys.TokenFlag(trustFlag),
				logStoreFlag("bench"),
				workerFlag("bench"),
				stringFlag("bench", "compare", "", "FILE of a former -o json: shows each figure as a part of that one"),
				jsonFlag(),
			}, preset.flags()...),
			Action: func(c *cli.Context) error { return p.bench(c, preset.name) },
		})
	}
	return c
}

// Limits of flags.
const (
	maxBenchCallers = 10_000
	maxBenchRuns    = 1000
	maxBenchTasks   = 100_000_000
	maxBenchRate    = 10_000
)

func (p *program) bench(c *cli.Context, preset string) error {
	asJSON, err := wantsJSON(c)
	if err != nil {
		return err
	}
	config, err := benchConfig(c)
	if err != nil {
		return err
	}
	former, err := benchFormer(c)
	if err != nil {
		return err
	}
	if config.Binary, err = os.Executable(); err != nil {
		return err
	}
	config.Progress = func(done, total int, what string) {
		p.stderr.Status("%s %s", terminal.Bar(int64(min(done, total)), int64(total)), what)
	}
	report, err := bench.Run(c.Context, preset, config)
	p.stderr.EndStatus()
	if err != nil {
		return err
	}
	if asJSON {
		return p.encodeJSON(report, "  ")
	}
	return p.stdout.Table(func(w *terminal.Table) { show.Bench(w, report, former) })
}

func benchConfig(c *cli.Context) (bench.Config, error) {
	config := bench.Config{
		URLs: splitList(c.String("server")), Slots: c.Int("worker-slots"), Payload: c.Int("payload"), Runs: c.Int("runs"), Batch: c.Int("batch"),
		Tasks: c.Int("tasks"), Finished: c.Bool("finished"), Drained: c.Int("drained"), Pipelined: c.Bool("pipelined"), HTTP: c.Bool("without-streams"), Version: buildVersion().Version, Secure: c.Bool("secure"),
	}
	var err error
	if config.TLS, err = keys.Client(c); err != nil {
		return config, keyError(c, err)
	}
	if config.Token, err = keys.Token(c); err != nil {
		return config, keyError(c, err)
	}
	logStore, err := readLogStore(c)
	if err != nil {
		return config, err
	}
	config.LogStore = string(logStore)
	if config.Worker, err = readWorker(c); err != nil {
		return config, err
	}
	for _, limit := range []struct {
		name      string
		least, is int
		most      int
	}{
		{"payload", 2, config.Payload, 64 << 10}, {"worker-slots", 0, config.Slots, maxBenchCallers}, {"runs", 1, config.Runs, maxBenchRuns},
		{"batch", 1, config.Batch, 10_000}, {"drained", 1, config.Drained, maxBenchTasks}, {"tasks", 1, config.Tasks, maxBenchTasks},
	} {
		if has(c, limit.name) && (limit.is < limit.least || limit.is > limit.most) {
			return config, usagef(c, "--%s must be %d to %d, not %d", limit.name, limit.least, limit.most, limit.is)
		}
	}
	for name, to := range map[string]*time.Duration{"for": &config.For, "warmup": &config.Warmup} {
		d, err := durationOf(c, name)
		if err != nil {
			return config, err
		}
		*to = time.Duration(d)
	}
	if has(c, "for") && config.For < 100*time.Millisecond {
		return config, usagef(c, "--for must be at least 100ms")
	}
	if has(c, "factor") {
		var err error
		if config.Factor, err = strconv.ParseFloat(c.String("factor"), 64); err != nil || config.Factor < 0.1 || config.Factor > 1000 {
			return config, usagef(c, "--factor must be a number of 0.1 to 1000, not %q", c.String("factor"))
		}
	}
	for name, to := range map[string]*[]int{"callers": &config.Callers, "workers": &config.Workers} {
		for _, text := range splitList(c.String(name)) {
			n, err := strconv.Atoi(text)
			if err != nil || n < 1 || n > maxBenchCallers {
				return config, usagef(c, "--%s must be numbers of 1 to %d, not %q", name, maxBenchCallers, text)
			}
			*to = append(*to, n)
		}
	}
	for _, text := range splitList(c.String("rates")) {
		r, err := strconv.ParseFloat(text, 64)
		if err != nil || r < 0.01 || r > maxBenchRate {
			return config, usagef(c, "--rates must be numbers of 0.01 to %d, not %q", maxBenchRate, text)
		}
		config.Rates = append(config.Rates, r)
	}
	return config, nil
}

// has tells whether the command has a flag of that name.
func has(c *cli.Context, name string) bool {
	return slices.ContainsFunc(c.Command.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
}

// benchFormer reads the report of --compare; nil: there is none.
func benchFormer(c *cli.Context) (*bench.Report, error) {
	file := c.String("compare")
	if file == "" {
		return nil, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, usagef(c, "--compare: %w", err)
	}
	var r bench.Report
	if err := json.Unmarshal(data, &r); err != nil || r.Preset == "" {
		return nil, usagef(c, "--compare: %s is no report of taskrt bench -o json", file)
	}
	return &r, nil
}
