/* The guest of abi/abitest in C: what its package comment asks of every SDK language, one function per case. */
#define TASKRT_IMPLEMENTATION
#include "taskrt.h"

static taskrt_outcome run(void);

TASKRT_MANIFEST({"schema": 1, "behaviors": [{"name": "conformance", "description": "the conformance guest of ABI v1"}]});
TASKRT_BEHAVIORS({"conformance", run});

static taskrt_arena arena; /* of the attempt */

static taskrt_outcome succeed(taskrt_str result) { return taskrt_succeed(result.text, result.length); }

#define answer(...) succeed(taskrt_format(&arena, __VA_ARGS__))

static int64_t number(taskrt_str s) {
  taskrt_json v;
  int64_t n = 0;
  TASKRT_ASSERT(taskrt_json_parse(s.text, s.length, &v, NULL) && taskrt_json_int64(v, &n));
  return n;
}

/* cut takes what stands before the first space off the front of s. */
static taskrt_str cut(taskrt_str *s) {
  taskrt_str head = {s->text, 0};
  while (head.length < s->length && head.text[head.length] != ' ') head.length++;
  size_t gone = head.length < s->length ? head.length + 1 : head.length;
  *s = (taskrt_str){s->text + gone, s->length - gone};
  return head;
}

/* The suite asks for the ABI's numbers. */
static taskrt_outcome refused(int64_t status) {
  return taskrt_fail(taskrt_format(&arena, "errno_%d", (int)-status).text, "%s", taskrt_status_text(status));
}

static taskrt_outcome echo(taskrt_str arg) { return succeed(arg); }

static taskrt_outcome sum(taskrt_str arg) {
  (void)arg;
  taskrt_str params;
  uint32_t s = 0;
  taskrt_params(&arena, &params);
  for (size_t i = 0; i < params.length; i++) s += (unsigned char)params.text[i];
  return answer("%zu %u", params.length, s);
}

/* pieces is sum for params that may be more than fits in memory. */
static taskrt_outcome pieces(taskrt_str arg) {
  (void)arg;
  unsigned char buffer[4096];
  taskrt_reader r = taskrt_params_reader();
  uint32_t s = 0;
  for (int32_t n; (n = taskrt_read(&r, buffer, sizeof buffer)) != 0;) {
    if (n < 0) return taskrt_refused("params", n);
    for (int32_t i = 0; i < n; i++) s += buffer[i];
  }
  return answer("%lld %u", (long long)r.at, s);
}

static taskrt_outcome empty(taskrt_str arg) {
  (void)arg;
  return TASKRT_OK;
}

static taskrt_outcome fill(taskrt_str arg) {
  char buffer[100];
  taskrt_writer w = taskrt_result_writer(buffer, sizeof buffer);
  for (int64_t n = number(arg); n > 0; n--) taskrt_put(&w, "x", 1);
  return taskrt_finish(&w);
}

static taskrt_outcome fail_retry(taskrt_str arg) {
  taskrt_str code = cut(&arg);
  return taskrt_retryable(taskrt_format(&arena, "%.*s", (int)code.length, code.text).text, "%s", arg.text);
}

static taskrt_outcome fail_permanent(taskrt_str arg) {
  taskrt_str code = cut(&arg);
  return taskrt_fail(taskrt_format(&arena, "%.*s", (int)code.length, code.text).text, "%s", arg.text);
}

static taskrt_outcome fail_plain(taskrt_str arg) { return taskrt_retryable(NULL, "%s", arg.text); }

static taskrt_outcome fail_details(taskrt_str arg) {
  (void)arg;
  char details[20];
  taskrt_writer w = taskrt_writer_of(details, sizeof details);
  taskrt_json_open(&w, '{');
  taskrt_json_name(&w, "k");
  taskrt_json_open(&w, '[');
  taskrt_json_put_int64(&w, 1);
  taskrt_json_put_int64(&w, 2);
  taskrt_json_close(&w, ']');
  taskrt_json_close(&w, '}');
  taskrt_details(details, w.length);
  return taskrt_fail("with_details", "see details");
}

static taskrt_outcome beat(taskrt_str arg) {
  int32_t all = 0;
  int64_t n = number(arg);
  for (int64_t i = 1; i <= n; i++) {
    taskrt_note("step %lld", (long long)i);
    all |= taskrt_heartbeat(i, n);
  }
  return answer("%d", (int)all);
}

static taskrt_outcome signals(taskrt_str arg) {
  (void)arg;
  return answer("%d", (int)taskrt_signals());
}

static taskrt_outcome wait_cancel(taskrt_str arg) {
  (void)arg;
  while (!taskrt_cancelled(taskrt_heartbeat(0, 0))) continue;
  return TASKRT_CANCELLED;
}

static taskrt_outcome wait_drain(taskrt_str arg) {
  (void)arg;
  while (!taskrt_draining(taskrt_heartbeat(0, 0))) continue;
  int32_t status = taskrt_save("drained", 7);
  return status < 0 ? taskrt_refused("checkpoint", status) : taskrt_yield(0);
}

static taskrt_outcome resume(taskrt_str arg) {
  (void)arg;
  taskrt_str saved;
  return taskrt_checkpoint(&arena, &saved) ? succeed(saved) : answer("none");
}

static taskrt_outcome checkpoint(taskrt_str arg) {
  int32_t status = taskrt_save(arg.text, arg.length);
  return status < 0 ? refused(status) : resume(arg);
}

static taskrt_outcome logs(taskrt_str arg) {
  (void)arg;
  taskrt_log(TASKRT_TRACE, "a %s", "trace");
  taskrt_log(TASKRT_DEBUG, "a debug");
  taskrt_log(TASKRT_INFO, "an info");
  taskrt_log(TASKRT_WARN, "a %.*s", 4, "warning");
  taskrt_log(TASKRT_ERROR, "an error");
  return TASKRT_OK;
}

static taskrt_outcome print_to(void (*print)(const void *, size_t), taskrt_str arg) {
  taskrt_str line = taskrt_format(&arena, "%s\n", arg.text);
  print(line.text, line.length);
  return TASKRT_OK;
}

static taskrt_outcome standard_output(taskrt_str arg) { return print_to(taskrt_print, arg); }
static taskrt_outcome standard_error(taskrt_str arg) { return print_to(taskrt_print_error, arg); }

static taskrt_outcome clocks(taskrt_str arg) {
  (void)arg;
  return answer("%lld %lld %lld", (long long)taskrt_now_ms(), (long long)taskrt_remaining_ms(), (long long)taskrt_elapsed_ns());
}

static taskrt_outcome sleeps(taskrt_str arg) {
  taskrt_sleep_ms(number(arg));
  return answer("slept");
}

static taskrt_outcome randoms(taskrt_str arg) {
  size_t n = (size_t)number(arg);
  char *p = taskrt_alloc(&arena, n);
  int32_t status = taskrt_random(p, n);
  return status < 0 ? refused(status) : taskrt_succeed(p, n);
}

static taskrt_outcome info(taskrt_str arg) {
  (void)arg;
  taskrt_info task;
  taskrt_task(&arena, &task);
  return taskrt_succeed(task.all.text, task.all.length);
}

static taskrt_outcome config(taskrt_str arg) {
  (void)arg;
  taskrt_str set;
  return taskrt_config(&arena, &set) ? succeed(set) : answer("none");
}

static taskrt_outcome yields(taskrt_str arg) { return taskrt_yield(arg.length == 0 ? 0 : number(arg)); }

static taskrt_outcome again(taskrt_str arg) {
  taskrt_run_again(number(arg));
  return answer("again");
}

static taskrt_outcome later(taskrt_str arg) { return taskrt_retry_at(number(arg), "later", "later"); }
static taskrt_outcome panics(taskrt_str arg) { taskrt_panic("%s", arg.text); }
static taskrt_outcome exits(taskrt_str arg) { taskrt_exit((int)number(arg)); }

static taskrt_outcome blob_size(taskrt_str arg) {
  taskrt_reader r;
  int32_t status = taskrt_blob(&r, arg);
  return status < 0 ? refused(status) : answer("%lld", (long long)r.size);
}

static taskrt_outcome call(int32_t op, const void *payload, size_t n) {
  taskrt_str response;
  int32_t status = taskrt_call(&arena, op, payload, n, &response);
  return status < 0 ? refused(status) : succeed(response);
}

/* blob_read is "OFFSET N NAME", in one request. */
static taskrt_outcome blob_read(taskrt_str arg) {
  uint64_t offset = (uint64_t)number(cut(&arg));
  uint32_t n = (uint32_t)number(cut(&arg));
  char *request = taskrt_alloc(&arena, arg.length + 12);
  __builtin_memcpy(request, arg.text, arg.length);
  __builtin_memcpy(request + arg.length, &offset, 8); /* WebAssembly has the lowest byte first, too */
  __builtin_memcpy(request + arg.length + 8, &n, 4);
  return call(TASKRT_OP_BLOB_READ, request, arg.length + 12);
}

static taskrt_outcome partitions(taskrt_str arg) { return call(TASKRT_OP_PARTITIONS, arg.text, arg.length); }

static const struct {
  const char *name;
  taskrt_outcome (*run)(taskrt_str arg);
} cases[] = {
    {"echo", echo}, {"sum", sum}, {"pieces", pieces}, {"empty", empty}, {"fill", fill},
    {"fail-retry", fail_retry}, {"fail-permanent", fail_permanent}, {"fail-plain", fail_plain}, {"fail-details", fail_details},
    {"beat", beat}, {"signals", signals}, {"wait-cancel", wait_cancel}, {"wait-drain", wait_drain},
    {"checkpoint", checkpoint}, {"resume", resume},
    {"log", logs}, {"stdout", standard_output}, {"stderr", standard_error},
    {"clock", clocks}, {"sleep", sleeps}, {"random", randoms}, {"info", info}, {"config", config},
    {"yield", yields}, {"again", again}, {"later", later}, {"panic", panics}, {"exit", exits},
    {"blob-size", blob_size}, {"blob-read", blob_read}, {"partitions", partitions},
};

/* run dispatches "CASE" or "CASE ARG". */
static taskrt_outcome run(void) {
  char head[7] = {0}; /* of params that may be more than fits in memory */
  taskrt_reader r = taskrt_params_reader();
  taskrt_read(&r, head, sizeof head);
  taskrt_str arg = {head, sizeof head};
  if (taskrt_str_is(cut(&arg), "pieces") || taskrt_str_is((taskrt_str){head, 6}, "pieces")) return pieces(arg);
  taskrt_params(&arena, &arg);
  taskrt_str name = cut(&arg);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    if (taskrt_str_is(name, cases[i].name)) return cases[i].run(arg);
  }
  return taskrt_fail("unknown_case", "%.*s", (int)name.length, name.text);
}
