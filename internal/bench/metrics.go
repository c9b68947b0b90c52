package bench

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// These are the metrics of nodes that are read here, as their lines begin.
const (
	writesMetric  = "taskrt_raft_disk_write_duration_seconds_count "
	appliedMetric = "taskrt_raft_applied_index "
	termMetric    = "taskrt_raft_term "
	pauseMetric   = `go_gc_duration_seconds{quantile="1"} `
	cyclesMetric  = "go_gc_duration_seconds_count "
)

// writes is how many durable writes the logs of all nodes that answer have made since they started.
func (b *bed) writes(ctx context.Context) (sum int64) {
	for _, url := range b.URLs {
		if n, err := b.metric(ctx, url, writesMetric); err == nil {
			sum += int64(n)
		}
	}
	return sum
}

// prove puts the token into a request that no client makes.
func (c *Config) prove(req *http.Request) error {
	if c.Token == nil {
		return nil
	}
	token, err := c.Token()
	req.Header.Set("Authorization", "Bearer "+token)
	return err
}

// metric asks a node for one of its metrics.
func (b *bed) metric(ctx context.Context, url, name string) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(url, "/")+"/metrics", http.NoBody)
	if err != nil {
		return 0, err
	}
	if err := b.prove(req); err != nil {
		return 0, err
	}
	t := transport(1, b.TLS)
	defer t.CloseIdleConnections()
	res, err := (&http.Client{Transport: t}).Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%s/metrics answers %s", url, res.Status)
	}
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), name); ok {
			return strconv.ParseFloat(text, 64)
		}
	}
	return 0, fmt.Errorf("%s has no metric %s", url, name)
}
