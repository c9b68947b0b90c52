package observe

// overview is what one looks at first.
func overview() *Dashboard {
	d := newDashboard("overview", "overview", "Is the cluster well, and does it do its work? The other dashboards show every metric.")
	var l layout
	l.row("Is it well?")
	l.add(stat("Leaders", "One node leads; none is an outage.", "short", `sum by (cluster) (taskrt_raft_is_leader{`+ofCluster+`})`, "{{cluster}}"))
	l.add(stat("Nodes that are ready", "Nodes that know a leader, have caught up and can write.", "short", `sum by (cluster) (taskrt_raft_ready{`+ofCluster+`})`, "{{cluster}}"))
	l.add(stat("Age of the last scheduled backup", "Empty: there is none.", "s", `time() - max by (cluster) (taskrt_backup_last_success_timestamp_seconds{`+ofCluster+`})`, "{{cluster}}"))
	l.add(&panel{
		Title: "Alerts that fire", Type: "timeseries", FieldConfig: unit("short"), Description: "Of `taskrt observe rules`; each leads to a page that says what to do.",
		Targets: []query{{Expr: `count by (alertname, severity) (ALERTS{alertname=~"Taskrt.*", alertstate="firing", ` + ofCluster + `})`, Legend: "{{severity}} {{alertname}}"}},
	})
	l.add(lines("Time of a durable write", "What each commit waits for, on each node.", "s",
		query{Expr: quantile("0.99", "taskrt_raft_disk_write_duration_seconds", ofCluster, "instance"), Legend: "p99 {{instance}}"}))
	l.add(lines("Room on the disks", "The share that is free.", "percentunit",
		query{Expr: `min by (instance, disk) (taskrt_disk_free_bytes{` + ofCluster + `} / taskrt_disk_size_bytes{` + ofCluster + `})`, Legend: "{{instance}} {{disk}}"}))

	l.add(lines("Entries since the states of all nodes were last found equal", "The leader compares them each second. What rises without end is not compared.", "short",
		query{Expr: `max by (cluster) (taskrt_raft_applied_index{` + ofCluster + `}) - max by (cluster) (taskrt_raft_digests_equal_index{` + ofCluster + `})`, Legend: "{{cluster}}"}))

	l.row("Does it do its work?")
	l.add(lines("Attempts that end", "By how they end, in a second.", "cps",
		query{Expr: `sum by (outcome) (rate(taskrt_attempts_total{` + ofCluster + `}[$__rate_interval]))`, Legend: "{{outcome}}"}))
	l.add(lines("Tasks that are not final", "On the leader.", "short",
		query{Expr: `sum by (state) (taskrt_queue_tasks{` + ofCluster + `})`, Legend: "{{state}}"}))
	l.add(lines("For how long the oldest task has been due", "The ten behaviors whose tasks wait for longest.", "s",
		query{Expr: `topk(10, max by (namespace, behavior) (taskrt_queue_oldest_seconds{` + ofCluster + `}))`, Legend: "{{namespace}} {{behavior}}"}))
	l.add(lines("Time of an attempt", "From the first instruction of the guest to the last, of all behaviors.", "s",
		query{Expr: quantile("0.5", "taskrt_attempt_duration_seconds", ofCluster), Legend: "p50"},
		query{Expr: quantile("0.99", "taskrt_attempt_duration_seconds", ofCluster), Legend: "p99", Exemplar: true}))
	l.add(lines("Slots", "How many attempts run, and how many may.", "short",
		query{Expr: `sum(taskrt_worker_tasks{` + ofCluster + `, state="executing"})`, Legend: "run"},
		query{Expr: `sum(taskrt_worker_slots{` + ofCluster + `})`, Legend: "slots"}))
	l.add(lines("Memory of guests", "The share of what they may use together.", "percentunit",
		query{Expr: `max by (instance) (taskrt_guest_memory_bytes{` + ofCluster + `} / taskrt_guest_memory_limit_bytes{` + ofCluster + `})`, Legend: "{{instance}}"}))

	l.row("What do clients see?")
	l.add(lines("Requests", "By their status, in a second; 0 is no answer.", "reqps",
		query{Expr: `sum by (code) (rate(taskrt_http_requests_total{` + ofCluster + `}[$__rate_interval]))`, Legend: "{{code}}"}))
	l.add(lines("Refusals and errors", "Of requests and of entries of batches, by their code, in a second.", "reqps",
		query{Expr: `sum by (code) (rate(taskrt_http_problems_total{` + ofCluster + `}[$__rate_interval]))`, Legend: "{{code}}"}))
	l.add(lines("Time of a submit", "`POST /v1/tasks`, with those that wait for their task.", "s",
		query{Expr: quantile("0.5", "taskrt_http_request_duration_seconds", ofCluster+`, route="/v1/tasks"`), Legend: "p50"},
		query{Expr: quantile("0.99", "taskrt_http_request_duration_seconds", ofCluster+`, route="/v1/tasks"`), Legend: "p99", Exemplar: true}))
	l.add(lines("Streams", "WebSockets of clients, and requests under way over them.", "short",
		query{Expr: `sum(taskrt_http_streams{` + ofCluster + `})`, Legend: "streams"},
		query{Expr: `sum(taskrt_http_stream_requests{` + ofCluster + `})`, Legend: "requests"}))
	l.add(lines("Leases that were lost", "In five minutes, by each node's account.", "short",
		query{Expr: `max(increase(taskrt_leases_ended_total{` + ofCluster + `}[5m]))`, Legend: "leases"}))
	d.Panels = l.panels
	return d
}

func lines(title, description, in string, queries ...query) *panel {
	return &panel{Title: title, Description: description, Type: "timeseries", FieldConfig: unit(in), Targets: queries}
}

func stat(title, description, in, expr, legend string) *panel {
	return &panel{Title: title, Description: description, Type: "stat", FieldConfig: unit(in), Targets: []query{{Expr: expr, Legend: legend}}}
}
