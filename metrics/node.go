package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/taskrt/taskrt/internal/diskspace"
	"github.com/taskrt/taskrt/metrics/table"
	"github.com/taskrt/taskrt/node"
	"github.com/taskrt/taskrt/raftstore"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/worker"
)

// Node is asked at every scrape. *node.Node implements it.
type Node interface {
	Stats() node.Stats
	HasBehavior(namespace, behavior string) bool
}

var _ Node = (*node.Node)(nil)

// WatchNode adds the metrics of a node. Call it once, before the first scrape.
func (m *Metrics) WatchNode(n Node) {
	m.has = n.HasBehavior
	m.registry.MustRegister(collector(func(g gather) {
		s := n.Stats()
		g.node(&s)
		g.queues(s.Queues, m.limit, s.Now)
		g.engine(s.Engine)
		if s.Worker != nil {
			g.worker(*s.Worker)
		}
	}))
}

// WatchPort adds the connections that the node port has refused, which refused tells at every scrape. Call it once.
func (m *Metrics) WatchPort(refused func() int64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(counterOpts("taskrt_port_refused_total"), func() float64 { return float64(refused()) }))
}

// WatchClients adds the connections of the port for clients that were closed for a reason, which dropped tells at every scrape. Call it once
// for each reason.
func (m *Metrics) WatchClients(reason string, dropped func() int64) {
	o := counterOpts("taskrt_http_connections_dropped_total")
	o.ConstLabels = prometheus.Labels{"reason": reason}
	m.registry.MustRegister(prometheus.NewCounterFunc(o, func() float64 { return float64(dropped()) }))
}

// WatchStreams adds the streams of clients, and the requests under way over them, which are told at every scrape. Call it once.
func (m *Metrics) WatchStreams(open, underWay func() int64) {
	m.registry.MustRegister(collector(func(g gather) {
		g.send("taskrt_http_streams", float64(open()))
		g.send("taskrt_http_stream_requests", float64(underWay()))
	}))
}

// WatchCertificate adds when the certificate of a port ends, which ends tells at every scrape; zero: it never does. Call it once for each
// port.
func (m *Metrics) WatchCertificate(port string, ends func() time.Time) {
	m.registry.MustRegister(collector(func(g gather) {
		if at := ends(); !at.IsZero() {
			g.send("taskrt_certificate_expiry_timestamp_seconds", float64(at.Unix()), port)
		}
	}))
}

// WatchProcess adds the metrics of a worker without a node, which report tells at every scrape. Call it once, before the first
// scrape.
func (m *Metrics) WatchProcess(report func() (worker.Status, runtime.Stats)) {
	m.registry.MustRegister(collector(func(g gather) {
		w, e := report()
		g.engine(e)
		g.worker(w)
	}))
}

// collector makes metrics of the values that it sends.
type collector func(gather)

// Describe implements prometheus.Collector. It sends nothing, because these metrics are made at each scrape, and differ.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c collector) Collect(out chan<- prometheus.Metric) { c(gather{out}) }

// gather sends the metrics of one scrape.
type gather struct{ out chan<- prometheus.Metric }

func (g gather) send(name string, value float64, labels ...string) {
	d := descs[name]
	kind := prometheus.GaugeValue
	if d.Kind == table.Counter {
		kind = prometheus.CounterValue
	}
	g.out <- prometheus.MustNewConstMetric(d.desc, kind, value, labels...)
}

// spread sends a histogram: how many there were, how long they took together, and how many of them at most so many seconds.
func (g gather) spread(name string, count uint64, sum time.Duration, within map[float64]uint64) {
	g.out <- prometheus.MustNewConstHistogram(descs[name].desc, count, sum.Seconds(), within)
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func (g gather) worker(s worker.Status) {
	g.send("taskrt_worker_connected", number(s.Connected))
	g.send("taskrt_worker_slots", float64(s.Slots))
	g.send("taskrt_worker_tasks", float64(len(s.Held)), "held")
	g.send("taskrt_worker_tasks", float64(len(s.Executing)), "executing")
	g.send("taskrt_worker_breaches_total", float64(s.Breaches))
}

func (g gather) engine(s runtime.Stats) {
	g.send("taskrt_modules", float64(s.Ready), "ready")
	g.send("taskrt_modules", float64(s.Compiling), "compiling")
	g.send("taskrt_modules", float64(s.Waiting), "waiting")
	g.send("taskrt_guests", float64(s.Guests))
	g.send("taskrt_guest_memory_bytes", float64(s.Memory))
	g.send("taskrt_guest_memory_limit_bytes", float64(s.MemoryBudget))
	g.send("taskrt_instances_idle", float64(s.Idle))
	g.send("taskrt_code_cache_bytes", float64(s.CacheBytes))
}

func (g gather) node(s *node.Stats) {
	g.send("taskrt_tasks", float64(s.Counts.Created), "CREATED", "false")
	g.send("taskrt_tasks", float64(s.Counts.Running), "RUNNING", "false")
	g.send("taskrt_tasks", float64(s.Counts.Retrying), "FAILURE", "false")
	g.send("taskrt_tasks", float64(s.Counts.Repeating), "SUCCESS", "false")
	g.send("taskrt_tasks", float64(s.Counts.Success), "SUCCESS", "true")
	g.send("taskrt_tasks", float64(s.Counts.Failure), "FAILURE", "true")
	g.send("taskrt_tasks_kept_forever", float64(s.Forever))
	g.send("taskrt_tasks_too_many_kept", float64(s.Excess))
	g.send("taskrt_sessions", float64(s.Counts.Sessions))
	g.send("taskrt_records", float64(s.Counts.Records))
	g.send("taskrt_leases_ended_total", float64(s.LeasesEnded))
	g.send("taskrt_sessions_ended_total", float64(s.SessionsEnded))
	g.send("taskrt_stream_breaches_total", float64(s.StreamBreaches))
	g.raft(&s.Store)
	g.disk("raft", s.LogDisk)
	g.disk("blobs", s.BlobDisk)
	g.send("taskrt_clock_timestamp_seconds", float64(s.Now.UnixMilli())/1000)
	g.send("taskrt_tokens_ending", float64(s.TokensEnding))
	g.send("taskrt_disk_error", number(s.Store.Disk.Err != nil), "raft")
	g.send("taskrt_disk_error", number(s.Blobs.Error != ""), "blobs")
	g.send("taskrt_blob_files", float64(s.Files))
	g.send("taskrt_blob_bytes", float64(s.Bytes))
	g.send("taskrt_blobs_missing", float64(s.Blobs.Missing))
	g.send("taskrt_blobs_failing", float64(s.Blobs.Failing))
	g.send("taskrt_blobs_corrupt_total", float64(s.Blobs.Corrupt))
	if b := s.Backup; b != nil {
		g.send("taskrt_backup_last_success_timestamp_seconds", float64(b.Finished.UnixMilli())/1000)
		g.send("taskrt_backup_last_duration_seconds", b.Finished.Sub(b.Began).Seconds())
		g.send("taskrt_backup_last_bytes", float64(b.Bytes))
		g.send("taskrt_backup_last_new_bytes", float64(b.NewBytes))
	}
	g.send("taskrt_backup_failures_total", float64(s.BackupFailures))
}

func (g gather) disk(name string, s diskspace.Space) {
	if s.Size > 0 {
		g.send("taskrt_disk_free_bytes", float64(s.Free), name)
		g.send("taskrt_disk_size_bytes", float64(s.Size), name)
	}
}

func (g gather) raft(s *raftstore.Status) {
	voters := 0
	for _, m := range s.Members {
		if m.Voter {
			voters++
		}
	}
	g.send("taskrt_raft_members", float64(voters), "true")
	g.send("taskrt_raft_members", float64(len(s.Members)-voters), "false")
	g.send("taskrt_raft_is_leader", number(s.Role == raftstore.RoleLeader))
	g.send("taskrt_raft_ready", number(s.Ready))
	g.send("taskrt_raft_term", float64(s.Term))
	g.send("taskrt_raft_commit_index", float64(s.Commit))
	g.send("taskrt_raft_applied_index", float64(s.Applied))
	if s.LastContact >= 0 {
		g.send("taskrt_raft_last_contact_seconds", s.LastContact.Seconds())
	}
	g.send("taskrt_raft_snapshots_installed_total", float64(s.SnapshotsTaken))
	if s.Digests.Equal > 0 {
		g.send("taskrt_raft_digests_equal_index", float64(s.Digests.Equal))
	}
	g.send("taskrt_raft_digests_different_total", float64(s.Digests.Different))
	g.spread("taskrt_raft_disk_write_duration_seconds", s.Disk.Writes, s.Disk.Took, s.Disk.Histogram())
	g.send("taskrt_raft_disk_write_bytes_total", float64(s.Disk.Bytes))
}

// queues sends the first limit queues, and the sum of the others.
func (g gather) queues(qs []node.Queue, limit int, now time.Time) {
	rest := node.Queue{Namespace: Other, Behavior: Other}
	for i, q := range qs {
		if i < limit {
			g.queue(q, now)
			continue
		}
		rest.Due += q.Due
		rest.Delayed += q.Delayed
		rest.Running += q.Running
		rest.Retrying += q.Retrying
		if rest.Oldest == 0 || q.Oldest != 0 && q.Oldest < rest.Oldest {
			rest.Oldest = q.Oldest
		}
	}
	if len(qs) > limit {
		g.queue(rest, now)
	}
}

func (g gather) queue(q node.Queue, now time.Time) {
	g.send("taskrt_queue_tasks", float64(q.Due), q.Namespace, q.Behavior, "due")
	g.send("taskrt_queue_tasks", float64(q.Delayed), q.Namespace, q.Behavior, "delayed")
	g.send("taskrt_queue_tasks", float64(q.Running), q.Namespace, q.Behavior, "running")
	g.send("taskrt_queue_tasks", float64(q.Retrying), q.Namespace, q.Behavior, "retrying")
	oldest := 0.0
	if q.Due > 0 && q.Oldest > 0 {
		oldest = max(0, now.Sub(time.UnixMilli(int64(q.Oldest))).Seconds())
	}
	g.send("taskrt_queue_oldest_seconds", oldest, q.Namespace, q.Behavior)
}
