package table

// attempts are the metrics of nodes that run tasks and of workers, for each behavior.
func attempts() []Metric {
	behavior := []string{"namespace", "behavior"}
	return []Metric{
		{"taskrt_attempts_total", Counter, []string{"namespace", "behavior", "outcome"}, false, "attempts that ended here, by how"},
		{"taskrt_attempt_duration_seconds", Histogram, behavior, false, "from before the first instruction of the guest to after its last"},
		{"taskrt_attempt_cpu_seconds_total", Counter, behavior, false, "time in which guests were at work: without sleeps, and without waits for the host and for a turn on a CPU"},
		{"taskrt_attempt_fuel_total", Counter, behavior, false, "units of fuel used"},
		{"taskrt_attempt_peak_memory_bytes", Histogram, behavior, false, "largest linear memory of an attempt"},
		{"taskrt_instances_total", Counter, []string{"namespace", "behavior", "how"}, false, "attempts in an instance that had worked before (`pooled`), or in a `new` one"},
		{"taskrt_behavior_ready_seconds", Gauge, behavior, false, "how long it took here to compile the module that ran last, or to get it from the disk"},
	}
}

// guests are the metrics of nodes and workers about modules and guests.
func guests() []Metric {
	return []Metric{
		{"taskrt_module_compile_duration_seconds", Histogram, []string{"result"}, false, "time to make a module ready: `compiled`, `cached` (the code was on the disk), `failed`"},
		{"taskrt_modules", Gauge, []string{"state"}, false, "modules that are `ready`, `compiling`, or `waiting` to be compiled"},
		{"taskrt_guests", Gauge, nil, false, "attempts in the engine, with those that wait for memory"},
		{"taskrt_guest_memory_bytes", Gauge, nil, false, "linear memory that guests use, or that is kept for the next ones"},
		{"taskrt_guest_memory_limit_bytes", Gauge, nil, false, "how much this may be"},
		{"taskrt_instances_idle", Gauge, nil, false, "instances that wait for their next attempt"},
		{"taskrt_code_cache_bytes", Gauge, nil, false, "native code and memory images of modules in `wasm-cache/`; at most 1 GiB"},
		{"taskrt_worker_connected", Gauge, nil, false, "1 if the worker's session is connected to the leader"},
		{"taskrt_worker_breaches_total", Counter, nil, false, "frames of the guests' process that went no further, because a process of guests does not say them: code of a guest has taken it over"},
		{"taskrt_worker_slots", Gauge, nil, false, "how many attempts run here at a time"},
		{"taskrt_worker_tasks", Gauge, []string{"state"}, false, "`held`: all leases; `executing`: the leases whose guest code runs"},
	}
}

// tasks are the metrics of nodes about what is in the state.
func tasks() []Metric {
	return []Metric{
		{"taskrt_queue_tasks", Gauge, []string{"namespace", "behavior", "state"}, true, "tasks that are not final: `due`, `delayed`, `running`, `retrying`"},
		{"taskrt_queue_oldest_seconds", Gauge, []string{"namespace", "behavior"}, true, "how long the oldest due task has been due; 0 if no task is due"},
		{"taskrt_tasks", Gauge, []string{"status", "final"}, false, "tasks by status, as in the API: `CREATED`, `RUNNING`, `SUCCESS`, `FAILURE`. `SUCCESS` with `final` `false` repeats, `FAILURE` with `final` `false` waits for its retry"},
		{"taskrt_sessions", Gauge, nil, false, "sessions of wasm workers"},
		{"taskrt_tasks_kept_forever", Gauge, nil, false, "final tasks that their behaviors keep for ever"},
		{"taskrt_tasks_too_many_kept", Gauge, nil, false, "final tasks beyond the first million in a namespace without `max_tasks` that their behaviors would keep for ever: they are kept for the [default times](maintenance.md)"},
		{"taskrt_records", Gauge, nil, false, "records of the TaskStore API"},
		{"taskrt_leases_ended_total", Counter, nil, false, "leases that ended without a report of their worker, because its session ended or the run went on for too long. As this node saw it since its start"},
		{"taskrt_sessions_ended_total", Counter, nil, false, "sessions that were closed, expired or replaced, as this node saw it since its start"},
		{"taskrt_stream_breaches_total", Counter, nil, false, "streams of workers that this node has ended since its start, because they spoke for attempts of others: a worker's machine may be taken over"},
	}
}

// nodes are the metrics of nodes about themselves.
func nodes() []Metric {
	return []Metric{
		{"taskrt_port_refused_total", Counter, nil, false, "connections to the node port that were refused: they had no certificate of this cluster, or no right to their protocol or request"},
		{"taskrt_http_connections_dropped_total", Counter, []string{"reason"}, false, "connections to the port for clients that were closed for lack of room: `waiting`, too many had not sent their first request; `idle`, too many were between two requests; `open`, too many were open, and none was idle or waited"},
		{"taskrt_http_streams", Gauge, nil, false, "[streams](stream.md) of clients that are open"},
		{"taskrt_http_stream_requests", Gauge, nil, false, "requests under way over them, [watches](stream.md#watch) among them"},
		{"taskrt_raft_is_leader", Gauge, nil, false, "1 on the leader; the sum over all nodes should be 1"},
		{"taskrt_raft_ready", Gauge, nil, false, "1 if a leader is known and in contact, this node has caught up, and its log's disk works. `/readyz` asks for more"},
		{"taskrt_raft_term", Gauge, nil, false, "rises with every election"},
		{"taskrt_raft_commit_index", Gauge, nil, false, "index of the last entry that this node knows to be committed"},
		{"taskrt_raft_applied_index", Gauge, nil, false, "index of the last entry in the state of this node"},
		{"taskrt_raft_members", Gauge, []string{"voter"}, false, "members of the cluster, as this node knows them: `true`, `false`"},
		{"taskrt_raft_last_contact_seconds", Gauge, nil, false, "time since the leader was heard of; 0 on the leader, absent before the first contact"},
		{"taskrt_raft_snapshots_installed_total", Counter, nil, false, "snapshots taken from a leader since the start"},
		{"taskrt_raft_digests_equal_index", Gauge, nil, false, "index at which this node, as the leader, last found the states of all members equal that it could ask; absent if it never did"},
		{"taskrt_raft_digests_different_total", Counter, nil, false, "comparisons in which the states of nodes differed, as this node found as the leader, or was told by it. Who differs from the majority stops"},
		{"taskrt_raft_disk_write_duration_seconds", Histogram, nil, false, "how long durable writes (fsync) of the log took"},
		{"taskrt_raft_disk_write_bytes_total", Counter, nil, false, "bytes of log entries in these writes"},
		{"taskrt_disk_error", Gauge, []string{"disk"}, false, "1 with `raft`: a write failed or stalled, and the node stops. 1 with `blobs`: the disk refused a file within the last minute"},
		{"taskrt_disk_free_bytes", Gauge, []string{"disk"}, false, "bytes that the node may still write on the disk of its log (`raft`) and of its blobs (`blobs`), which may be the same"},
		{"taskrt_disk_size_bytes", Gauge, []string{"disk"}, false, "bytes of this disk in all"},
		{"taskrt_clock_timestamp_seconds", Gauge, nil, false, "the wall clock of this node"},
		{"taskrt_certificate_expiry_timestamp_seconds", Gauge, []string{"port"}, false, "when a certificate of one's own ends: of the port for clients (`http`, `--tls-cert`), of the port for nodes (`node`, `--node-cert`). Absent for certificates that follow from the cluster secret: they are made anew in time"},
		{"taskrt_tokens_ending", Gauge, nil, false, "tokens that end within a week, sessions of people who have signed in left out"},
		{"taskrt_blob_files", Gauge, nil, false, "blobs on this node's disk, counted every 15 s, or less often if there are many"},
		{"taskrt_blob_bytes", Gauge, nil, false, "bytes of these blobs"},
		{"taskrt_blobs_missing", Gauge, nil, false, "blobs that this node should have and lacks: it fetches them"},
		{"taskrt_blobs_failing", Gauge, nil, false, "missing blobs that were asked for in vain"},
		{"taskrt_blobs_corrupt_total", Counter, nil, false, "blobs found corrupt and removed, since the start"},
		{"taskrt_backup_last_success_timestamp_seconds", Gauge, nil, false, "when the last [scheduled backup](backup.md#by-schedule) of the cluster was there and verified, on every node; absent before the first. `time() - max(…)` is the age"},
		{"taskrt_backup_last_duration_seconds", Gauge, nil, false, "how long this backup took"},
		{"taskrt_backup_last_bytes", Gauge, nil, false, "its bytes in the target, with the blobs that it shares with other backups"},
		{"taskrt_backup_last_new_bytes", Gauge, nil, false, "those of its bytes that were not in the target before"},
		{"taskrt_backup_failures_total", Counter, nil, false, "runs of the scheduled backup that failed on this node, since its start"},
		{"taskrt_http_requests_total", Counter, []string{"route", "method", "code"}, false, "requests. `route` as in `/openapi.json`; empty for what no route serves. `code` is 0 if there was no answer"},
		{"taskrt_http_problems_total", Counter, []string{"code"}, false, "errors that were answered, to a request or for one entry of a batch, by their [code](errors.md)"},
		{"taskrt_http_request_duration_seconds", Histogram, []string{"route"}, false, "time to answer requests, long polls and streams included: they last as long as the client wants"},
		{"taskrt_build_info", Gauge, []string{"version", "revision", "goversion"}, false, "always 1; the labels say what `taskrt version` prints"},
	}
}
