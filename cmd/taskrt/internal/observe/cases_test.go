package observe

// alertCase is what an alert says of some series, one sample a minute in promtool's notation, at a time.
type alertCase struct {
	alert  string
	at     string
	fires  map[string]string
	labels string // of the alert, beside its severity
	says   string // its description
	quiet  map[string]string
}

type series = map[string]string

func alertCases() []alertCase {
	const of = `cluster="c", instance="n1"`
	three := func(metric string, values ...string) series {
		s := series{}
		for i, v := range values {
			s[metric+`{cluster="c", instance="n`+string(rune('1'+i))+`"}`] = v
		}
		return s
	}
	and := func(all ...series) series {
		s := series{}
		for _, one := range all {
			for k, v := range one {
				s[k] = v
			}
		}
		return s
	}
	voters := func(n string) series {
		return series{`taskrt_raft_members{voter="true", ` + of + `}`: n + "+0x30", `taskrt_raft_members{voter="false", ` + of + `}`: "0+0x30"}
	}
	due := series{`taskrt_queue_tasks{behavior="b", namespace="n", state="due", ` + of + `}`: "5+0x30"}
	none := series{`taskrt_queue_tasks{behavior="b", namespace="n", state="due", ` + of + `}`: "0+0x30"}
	attempts := func(outcome, values string) series {
		return series{`taskrt_attempts_total{behavior="b", namespace="n", outcome="` + outcome + `", ` + of + `}`: values}
	}
	requests := func(code, values string) series {
		return series{`taskrt_http_requests_total{route="/v1/tasks", method="POST", code="` + code + `", ` + of + `}`: values}
	}
	problems := func(code, values string) series {
		return series{`taskrt_http_problems_total{code="` + code + `", ` + of + `}`: values}
	}
	return []alertCase{
		{"TaskrtNoLeader", "5m", three("taskrt_raft_ready", "0+0x9", "0+0x9", "0+0x9"), "cluster=c", "", three("taskrt_raft_ready", "0+0x9", "1+0x9", "0+0x9")},
		{"TaskrtNoSpareNode", "9m", and(voters("3"), three("taskrt_raft_ready", "1+0x9", "1+0x9", "0+0x9")), "cluster=c", "2 nodes are ready.",
			and(voters("3"), three("taskrt_raft_ready", "1+0x9", "1+0x9", "1+0x9"))},
		{"TaskrtNodeDown", "4m", series{`up{job="taskrt-worker", instance="w1"}`: "0+0x9"}, "job=taskrt-worker instance=w1", "",
			series{`up{job="taskrt", instance="n1"}`: "1+0x9", `up{job="other", instance="x"}`: "0+0x9"}},
		{"TaskrtNodeNotReady", "8m", three("taskrt_raft_ready", "1+0x9", "0+0x9"), "cluster=c instance=n2", "", three("taskrt_raft_ready", "0+0x4 1+0x9", "1+0x14")},
		{"TaskrtNodeLags", "9m", and(three("taskrt_raft_commit_index", "90000+5000x9", "90000+0x9"), three("taskrt_raft_applied_index", "90000+5000x9", "90000+0x9")),
			"cluster=c instance=n2", "40000 entries are missing.",
			// At a high rate each scrape shows something else: that is no lag.
			and(three("taskrt_raft_commit_index", "90000+5000x9", "87000+5000x9"), three("taskrt_raft_applied_index", "90000+5000x9", "86000+5000x9"))},
		{"TaskrtStatesDiffer", "10m", three("taskrt_raft_digests_different_total", "0+0x5 1+0x9", "0+0x15"), "cluster=c", "", three("taskrt_raft_digests_different_total", "1+0x15", "0+0x15")},
		{"TaskrtElections", "20m", three("taskrt_raft_term", "7+0x10 8+1x10", "7+0x10 8+1x10"), "cluster=c", "10 elections in 15 minutes.", three("taskrt_raft_term", "7+0x10 8+0x10", "7+0x10 8+0x10")},
		{"TaskrtRestarts", "20m", series{`process_start_time_seconds{job="taskrt", instance="n1"}`: "0+60x20"}, "job=taskrt instance=n1", "20 starts in half an hour.",
			series{`process_start_time_seconds{job="taskrt", instance="n1"}`: "0+0x10 600+0x10", `process_start_time_seconds{job="x", instance="n1"}`: "0+60x20"}},
		{"TaskrtClocksDiffer", "9m", three("taskrt_clock_timestamp_seconds", "0+60x9", "7+60x9"), "cluster=c", "They differ by 7s.", three("taskrt_clock_timestamp_seconds", "0+60x9", "2+60x9")},
		{"TaskrtBuildsDiffer", "25h", series{
			`taskrt_build_info{version="v1", revision="a", ` + of + `}`:                                "1+0x1500",
			`taskrt_build_info{version="v1", revision="b", cluster="c", instance="n2"}`:                "1+0x1500",
			`taskrt_build_info{version="v1", revision="b", cluster="c", instance="n3", goversion="g"}`: "1+0x1500",
		}, "cluster=c", "2 builds.", series{`taskrt_build_info{version="v1", revision="a", ` + of + `}`: "1+0x1500", `taskrt_build_info{version="v1", revision="a", cluster="c", instance="n2"}`: "1+0x1500"}},
		{"TaskrtCertificateEnds", "2h", series{`taskrt_certificate_expiry_timestamp_seconds{port="http", ` + of + `}`: "871200+0x150"}, "cluster=c instance=n1 port=http", "It ends in 10d 0h 0m 0s.",
			series{`taskrt_certificate_expiry_timestamp_seconds{port="http", ` + of + `}`: "2000000+0x150"}},
		{"TaskrtTokensEnd", "2h", three("taskrt_tokens_ending", "2+0x150", "2+0x150"), "cluster=c", "2 tokens.", three("taskrt_tokens_ending", "0+0x150", "0+0x150")},
		{"TaskrtStreamBreach", "10m", three("taskrt_stream_breaches_total", "0+0x5 1+0x9"), "cluster=c instance=n1", "", three("taskrt_stream_breaches_total", "1+0x15")},
		{"TaskrtGuestBreach", "10m", three("taskrt_worker_breaches_total", "0+0x5 1+0x9"), "cluster=c instance=n1", "", three("taskrt_worker_breaches_total", "1+0x15")},
		{"TaskrtPortRefuses", "40m", three("taskrt_port_refused_total", "0+4x40"), "cluster=c instance=n1", "60 in 15 minutes.", three("taskrt_port_refused_total", "0+0x20 9+0x20")},

		{"TaskrtDiskError", "2m", series{`taskrt_disk_error{disk="blobs", ` + of + `}`: "1+0x5"}, "cluster=c instance=n1 disk=blobs", "", series{`taskrt_disk_error{disk="blobs", ` + of + `}`: "0+0x5"}},
		{"TaskrtDiskFull", "9m", and(disk("5+0x9"), size("9")), "cluster=c instance=n1 disk=raft", "5% is free.", and(disk("50+0x9"), size("9"))},
		{"TaskrtDiskFills", "8h", and(disk("80-0.1x500"), size("500")), "cluster=c instance=n1 disk=raft", "", and(disk("35-0.001x500"), size("500"))},
		{"TaskrtDiskSlow", "20m", and(three("taskrt_raft_disk_write_duration_seconds_sum", "0+12x25"), three("taskrt_raft_disk_write_duration_seconds_count", "0+60x25")), "cluster=c instance=n1", "A write takes 200ms.",
			and(three("taskrt_raft_disk_write_duration_seconds_sum", "0+0.6x25"), three("taskrt_raft_disk_write_duration_seconds_count", "0+60x25"))},
		{"TaskrtFilesMissing", "20m", three("taskrt_blobs_failing", "3+0x25"), "cluster=c instance=n1", "3 files.", three("taskrt_blobs_failing", "3+0x9 0+0x25")},
		{"TaskrtFilesCorrupt", "10m", three("taskrt_blobs_corrupt_total", "0+0x5 1+0x9"), "cluster=c instance=n1", "", three("taskrt_blobs_corrupt_total", "1+0x15")},
		{"TaskrtBackupOld", "49h", three("taskrt_backup_last_success_timestamp_seconds", "0+0x2950", "0+0x2950"), "cluster=c", "It is 2d 1h 0m 0s old.", three("taskrt_backup_last_success_timestamp_seconds", "0+0x1440 86400+0x1510", "0+0x2950")},
		{"TaskrtBackupFails", "60m", three("taskrt_backup_failures_total", "0+0x20 1+0x10 2+0x30", "0+0x10 1+0x10 2+0x40"), "cluster=c", "", three("taskrt_backup_failures_total", "0+0x20 1+0x40", "0+0x60")},

		{"TaskrtQueueOld", "12m", series{`taskrt_queue_oldest_seconds{behavior="b", namespace="n", ` + of + `}`: "0+60x15"}, "cluster=c behavior=b namespace=n", "The oldest has been due for 12m 0s.",
			series{`taskrt_queue_oldest_seconds{behavior="b", namespace="n", ` + of + `}`: "100+0x15"}},
		{"TaskrtNoWorkers", "9m", and(due, three("taskrt_sessions", "0+0x30", "0+0x30")), "cluster=c", "", and(none, three("taskrt_sessions", "0+0x30", "0+0x30"))},
		{"TaskrtSlotsFull", "20m", and(due, executing("8+0x30"), three("taskrt_worker_slots", "8+0x30")), "cluster=c", "8 attempts run.", and(due, executing("7+0x30"), three("taskrt_worker_slots", "8+0x30"))},
		{"TaskrtLeasesLost", "10m", three("taskrt_leases_ended_total", "0+0x5 3+0x9", "0+0x5 3+0x9"), "cluster=c", "3 in 15 minutes.", three("taskrt_leases_ended_total", "3+0x15", "3+0x15")},
		{"TaskrtAttemptsFail", "40m", and(attempts("success", "0+1x45"), attempts("trap", "0+3x45")), "cluster=c behavior=b namespace=n", "75% fail.",
			and(attempts("success", "0+1x45"), attempts("trap", "0+0.5x45"), attempts("lost", "0+3x45"))},
		{"TaskrtGuestMemoryFull", "15m", and(memory("99+0x30"), three("taskrt_instances_idle", "0+0x30")), "cluster=c instance=n1", "99% is used.", and(memory("99+0x30"), three("taskrt_instances_idle", "4+0x30"))},
		{"TaskrtModulesFail", "20m", compiled("failed", "0+1x25"), "cluster=c instance=n1 result=failed", "", and(compiled("failed", "1+0x25"), compiled("compiled", "0+1x25"))},
		{"TaskrtTooManyKept", "2h", three("taskrt_tasks_too_many_kept", "12+0x150", "12+0x150"), "cluster=c", "12 tasks.", three("taskrt_tasks_too_many_kept", "0+0x150")},

		{"TaskrtRequestsFail", "20m", and(requests("200", "0+60x25"), requests("503", "0+20x25")), "cluster=c", "25% of all requests.", and(requests("200", "0+60x25"), requests("404", "0+20x25"))},
		{"TaskrtOverloaded", "20m", problems("rate_limited", "0+120x25"), "cluster=c", "2.0 in a second.", and(problems("overloaded", "0+6x25"), problems("quota_exceeded", "0+120x25"))},
		{"TaskrtQuotaUsedUp", "30m", problems("quota_exceeded", "0+60x35"), "cluster=c", "1.0 in a second.", problems("overloaded", "0+60x35")},
		{"TaskrtUnknownTokens", "40m", requests("401", "0+60x45"), "cluster=c", "1.0 in a second.", requests("401", "0+6x45")},
		{"TaskrtConnectionsDropped", "20m", series{`taskrt_http_connections_dropped_total{reason="idle", ` + of + `}`: "0+30x25"}, "cluster=c instance=n1", "0.5 in a second.",
			series{`taskrt_http_connections_dropped_total{reason="idle", ` + of + `}`: "30+0x25"}},
		{"TaskrtFilesOpen", "15m", files("900+0x20"), "job=taskrt instance=n1", "90% of them.", files("100+0x20")},
	}
}

func disk(free string) series {
	return series{`taskrt_disk_free_bytes{disk="raft", cluster="c", instance="n1"}`: free}
}

func size(minutes string) series {
	return series{`taskrt_disk_size_bytes{disk="raft", cluster="c", instance="n1"}`: "100+0x" + minutes}
}

func executing(values string) series {
	return series{`taskrt_worker_tasks{state="executing", cluster="c", instance="n1"}`: values, `taskrt_worker_tasks{state="held", cluster="c", instance="n1"}`: "90+0x30"}
}

func memory(used string) series {
	return series{`taskrt_guest_memory_bytes{cluster="c", instance="n1"}`: used, `taskrt_guest_memory_limit_bytes{cluster="c", instance="n1"}`: "100+0x30"}
}

func compiled(result, values string) series {
	return series{`taskrt_module_compile_duration_seconds_count{result="` + result + `", cluster="c", instance="n1"}`: values}
}

func files(open string) series {
	return series{`process_open_fds{job="taskrt", instance="n1"}`: open, `process_max_fds{job="taskrt", instance="n1"}`: "1000+0x20"}
}
