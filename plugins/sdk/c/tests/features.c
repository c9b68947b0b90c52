/* The guest of TestCFeatures: what the conformance guest does not show of the SDK. */
#define TASKRT_IMPLEMENTATION
#include "taskrt.h"

static taskrt_arena arena;
static char buffer[1000];

static void member(taskrt_writer *w, const char *name, taskrt_str value) {
  taskrt_json_name(w, name);
  taskrt_json_put_str(w, value);
}

static void number(taskrt_writer *w, const char *name, int64_t value) {
  taskrt_json_name(w, name);
  taskrt_json_put_int64(w, value);
}

static taskrt_outcome task(void) {
  taskrt_info t;
  TASKRT_ASSERT(taskrt_task(&arena, &t));
  taskrt_writer w = taskrt_result_writer(buffer, sizeof buffer);
  taskrt_json_open(&w, '{');
  member(&w, "namespace", t.space);
  member(&w, "id", t.id);
  member(&w, "behavior", t.behavior);
  number(&w, "attempt", t.attempt);
  number(&w, "failures", t.failures);
  number(&w, "token", (int64_t)t.token);
  member(&w, "parent", t.parent);
  member(&w, "partition", t.partition);
  number(&w, "deadline_ms", t.deadline_ms);
  taskrt_json_name(&w, "labels");
  taskrt_json_put_json(&w, t.labels);
  member(&w, "worker", t.worker);
  number(&w, "priority", t.priority);
  taskrt_json_close(&w, '}');
  return taskrt_finish(&w);
}

static taskrt_outcome part(void) {
  taskrt_operation o;
  taskrt_outcome bad;
  if (!taskrt_operation_task(&arena, &o, &bad)) return bad;
  taskrt_writer w = taskrt_result_writer(buffer, sizeof buffer);
  taskrt_json_open(&w, '{');
  member(&w, "operation", o.operation);
  member(&w, "target", o.target);
  member(&w, "object", o.object);
  member(&w, "partition", o.partition);
  number(&w, "token", (int64_t)o.token);
  taskrt_json_name(&w, "success");
  taskrt_json_put_bool(&w, o.success);
  number(&w, "succeeded", o.succeeded);
  number(&w, "failed", o.failed);
  taskrt_json_name(&w, "arg");
  taskrt_json_put_json(&w, o.arg);
  taskrt_json_close(&w, '}');
  return taskrt_finish(&w);
}

/* complete counts, and writes what the first partitions came to. */
static taskrt_outcome complete(void) {
  int64_t count = 0, bytes = 0;
  int32_t status;
  taskrt_writer w = taskrt_result_writer(buffer, sizeof buffer);
  taskrt_json_open(&w, '[');
  taskrt_partitions all = taskrt_partitions_from(0);
  for (taskrt_partition p; (status = taskrt_next_partition(&all, &p)) > 0; count++) {
    TASKRT_ASSERT(p.index == count);
    bytes += (int64_t)p.result.length;
    if (count >= 4) continue;
    taskrt_json_open(&w, '[');
    taskrt_json_put_str(&w, p.name);
    taskrt_json_put_str(&w, p.status);
    taskrt_json_put_json(&w, p.result);
    taskrt_json_put_str(&w, p.bytes);
    taskrt_json_put_str(&w, p.blob);
    taskrt_json_put_str(&w, p.code);
    taskrt_json_put_str(&w, p.message);
    taskrt_json_put_bool(&w, p.retryable);
    taskrt_json_close(&w, ']');
  }
  if (status < 0) return taskrt_refused("partitions", status);
  taskrt_json_put_int64(&w, count);
  taskrt_json_put_int64(&w, bytes);
  taskrt_json_close(&w, ']');
  return taskrt_finish(&w);
}

/* blob reads all of a blob, and its last byte again. */
static taskrt_outcome blob(void) {
  taskrt_json params;
  taskrt_outcome bad;
  taskrt_str name;
  taskrt_reader r;
  if (!taskrt_params_json(&arena, &params, &bad)) return bad;
  if (!taskrt_json_blob(taskrt_json_get(params, "file"), &arena, &name)) return taskrt_fail("bad_params", "file must name a blob");
  int32_t status = taskrt_blob(&r, name), n;
  if (status < 0) return taskrt_refused("file", status);
  enum { PIECE = 3 << 20 };
  unsigned char *piece = taskrt_alloc(&arena, PIECE);
  int64_t sum = 0;
  while ((n = taskrt_read(&r, piece, PIECE)) > 0) {
    for (int32_t i = 0; i < n; i++) sum += piece[i];
  }
  TASKRT_ASSERT(n == 0 && r.at == r.size);
  r.at = r.size - 1;
  TASKRT_ASSERT(taskrt_read(&r, piece, PIECE) == 1);
  taskrt_str text = taskrt_format(&arena, "[%lld,%lld,%d]", (long long)r.size, (long long)sum, piece[0]);
  return taskrt_succeed(text.text, text.length);
}

/* error fails with the message and the details that params have, and a word before that counts for nothing. */
static taskrt_outcome error(void) {
  taskrt_json params;
  taskrt_outcome bad;
  taskrt_str code, message, details;
  if (!taskrt_params_json(&arena, &params, &bad)) return bad;
  if (taskrt_json_string(taskrt_json_get(params, "details"), &arena, &details) && !taskrt_details(details.text, details.length)) {
    taskrt_log(TASKRT_WARN, "the details are too long");
  }
  TASKRT_ASSERT(taskrt_retry_at(1, "early", "first") == TASKRT_RETRYABLE);
  bool coded = taskrt_json_string(taskrt_json_get(params, "code"), &arena, &code);
  if (!taskrt_json_string(taskrt_json_get(params, "message"), &arena, &message)) return TASKRT_OK;
  return taskrt_retryable(coded ? code.text : NULL, "%s", message.text);
}

static taskrt_outcome memory(void) {
  char small[64];
  taskrt_arena fixed = taskrt_arena_of(small, sizeof small);
  taskrt_outcome bad;
  taskrt_json params;
  taskrt_str text;
  if (!taskrt_params_json(&fixed, &params, &bad)) return bad;
  TASKRT_ASSERT(taskrt_alloc(&fixed, SIZE_MAX) == NULL && taskrt_alloc(&fixed, 64) == NULL);
  TASKRT_ASSERT(taskrt_format(&fixed, "%d", 1).text == NULL);
  for (int i = 0; i < 1000; i++) { /* 100 MB, which are given back */
    void *mark = taskrt_mark(&arena);
    char *p = taskrt_alloc(&arena, 100000);
    TASKRT_ASSERT(((uintptr_t)p & 15) == 0);
    p[99999] = 1;
    taskrt_release(&arena, mark);
  }
  int64_t kib;
  if (taskrt_json_int64(params, &kib)) taskrt_alloc(&arena, (size_t)kib << 10);
  text = taskrt_format(&arena, "%s", "\"ok\"");
  return taskrt_succeed(text.text, text.length);
}

static taskrt_outcome format(void) {
  taskrt_str text = taskrt_format(&arena, "%d %u %x %ld %lu %lld %llu %zu %zd %c %.*s %s %% %g %g %g %g %g", -1, 2u, 255u, -3L, 4ul,
                                  (long long)INT64_MIN, (unsigned long long)UINT64_MAX, (size_t)5, (ptrdiff_t)-6, 'c', 2, "abc", "s", 0.1, -1e300, 5e-324, 1e21, 123456.0);
  return taskrt_succeed(text.text, text.length);
}

/* deep overflows the stack, with data behind it that must not be written to. */
static int64_t deep(int64_t n) {
  volatile char frame[1024];
  frame[n % 1024] = 1;
  return n == 0 ? 0 : deep(n - 1) + frame[n % 1024];
}

static taskrt_outcome stack(void) {
  taskrt_str text = taskrt_format(&arena, "%lld", (long long)deep(taskrt_params_reader().size));
  return taskrt_succeed(text.text, text.length);
}

static taskrt_outcome not_finite(void) {
  volatile double zero = 0;
  taskrt_writer w = taskrt_result_writer(buffer, sizeof buffer);
  taskrt_json_put_double(&w, 1 / zero);
  return taskrt_finish(&w);
}

/* spans shows spans, the last of them open. */
static taskrt_outcome spans(void) {
  char name[101] = {0};
  __builtin_memset(name, 'x', 99);
  taskrt_span work = taskrt_span_begin("work", "file", "a\nb", "rows", "3", (char *)NULL);
  taskrt_span part = taskrt_span_begin("part", (char *)NULL);
  taskrt_span_fail(&part, "row %d\nis bad", 7);
  taskrt_span_end(&part);
  taskrt_span refused = taskrt_span_begin("x", "BAD KEY", "v", (char *)NULL);
  taskrt_span_end(&refused); /* nothing: what is around it goes on */
  taskrt_span empty = taskrt_span_begin("", (char *)NULL);
  taskrt_span_fail(&empty, "%s", "");
  taskrt_span cut = taskrt_span_begin(name, (char *)NULL);
  taskrt_span_end(&cut);
  taskrt_span_end(&work);
  taskrt_span_begin("open", (char *)NULL);
  return TASKRT_OK;
}

TASKRT_MANIFEST({"schema": 1, "behaviors": [
  {"name": "task"}, {"name": "complete"}, {"name": "cleanup"}, {"name": "blob"}, {"name": "error"},
  {"name": "memory", "limits": {"memory_bytes": 1048576}}, {"name": "format"}, {"name": "not-finite"}, {"name": "stack"}, {"name": "part", "operation": {"complete": "complete", "cleanup": "cleanup"}},
  {"name": "spans"}, {"name": "none"}
]});

/* In another order than in the manifest: the name counts. */
TASKRT_BEHAVIORS({"part", part}, {"cleanup", part}, {"complete", complete}, {"task", task}, {"blob", blob}, {"error", error}, {"memory", memory},
                 {"format", format}, {"not-finite", not_finite}, {"stack", stack}, {"spans", spans});
