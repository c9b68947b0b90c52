// Package abitest is the conformance suite of ABI v1: every SDK language has a conformance guest that passes Run.
//
// # The conformance guest
//
// The guest is a module whose behavior of index 0 takes params of the form
//
//	CASE
//	CASE ARG
//
// (raw bytes, not JSON: CASE is lower-case letters and dashes up to the first space or the end; ARG is every byte after that one
// space, and may be empty or binary). It does exactly what the table says. An unknown case is a permanent
// failure with code "unknown_case". "→ x" means: result x, outcome 0. Numbers are decimal ASCII without leading zeros.
//
//	echo ARG          → ARG
//	sum ARG           → "LEN SUM": number of bytes of the whole params, and the sum of all those bytes modulo 2^32
//	                    (params may be megabytes: read them in chunks, or all at once)
//	empty             outcome 0, nothing written to the result channel
//	fill N            → N bytes 'x'; if the host refuses the result: permanent failure, code "too_big", and no result
//	fail-retry CODE MESSAGE      retryable failure with that code and message (MESSAGE: all after the space behind CODE)
//	fail-permanent CODE MESSAGE  permanent failure, the same
//	fail-plain MESSAGE           retryable failure without a code
//	fail-details      permanent failure, code "with_details", message "see details", details {"k":[1,2]}
//	beat N            for i = 1..N: progress note "step i", then beat(i, N)
//	                  → the bitwise or of all answers, as a number
//	signals           → signals() as a number
//	wait-cancel       beat(0, 0) until the cancel bit is seen, then outcome 3
//	wait-drain        beat(0, 0) until the draining bit is seen, then save checkpoint "drained" and yield (no next time)
//	checkpoint ARG    save checkpoint ARG, then read the checkpoint channel → what it read;
//	                  if the host answers a negative status -N: permanent failure, code "errno_N"
//	resume            → the checkpoint, or "none" if there is none
//	log               log "a trace", "a debug", "an info", "a warn", "an error" at the five levels, in this order;
//	                  outcome 0, no result
//	stdout ARG        write ARG and a newline to standard output; outcome 0, no result
//	stderr ARG        the same to standard error
//	clock             → "WALL LEFT MONO": clock(0), clock(1), clock(2)
//	sleep MS          sleep that long by the language's own means → "slept"
//	random N          → N bytes of the host's randomness (op 6, or WASI random_get)
//	info              → the bytes of the info channel
//	config            → the config channel, or "none" if there is none
//	yield             outcome 4, no next time
//	yield T           outcome 4, next time T (Unix ms)
//	again T           → "again", outcome 0 with next time T
//	later T           retryable failure with code "later", message "later", next time T
//	panic ARG         panic, assert or abort with ARG the way programs of the language do. Both are right: the SDK turns
//	                  it into a retryable failure whose message contains ARG; or a trap with ARG on standard error
//	pieces ARG        → "LEN SUM" as for sum, through reads of at most 4096 bytes: the params may be more than fits in memory
//	blob-size NAME    → the size of the blob NAME ("sha256:" and hex); if the host answers -N: failure as for checkpoint
//	blob-read OFF N NAME   → at most N bytes of the blob from OFF on, in one call; failures the same
//	partitions JSON   → what the host answers to op.partitions with that payload; failures the same
//	exit N            end the process with exit code N the way programs of the language do
//
// The guest has no manifest requirements: the suite sets its own limits. Run reports the differences, case by case.
package abitest
