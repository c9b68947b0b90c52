package bench

import (
	"bufio"
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// writesMetric counts the durable writes of a node's log.
const writesMetric = "taskrt_raft_disk_writes_total "

// writes is how many durable writes the logs of all nodes that answer have made since they started.
func (b *bed) writes(ctx context.Context) (sum int64) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for _, url := range b.URLs {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(url, "/")+"/metrics", http.NoBody)
		if err != nil {
			continue
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			continue
		}
		lines := bufio.NewScanner(res.Body)
		for lines.Scan() {
			if text, ok := strings.CutPrefix(lines.Text(), writesMetric); ok {
				n, _ := strconv.ParseFloat(text, 64)
				sum += int64(n)
			}
		}
		res.Body.Close()
	}
	return sum
}
