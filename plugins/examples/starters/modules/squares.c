/* An operation: each partition adds up the squares of its share of 1 to n, and the completion adds up what the partitions have. */
#define TASKRT_IMPLEMENTATION
#include "taskrt.h"

TASKRT_MANIFEST({
  "schema": 1,
  "behaviors": [{
    "name": "example.squares",
    "description": "Adds up the squares of 1 to n as an operation: partitions side by side, then a completion, one result.",
    "operation": {"complete": "example.squares.total"}
  }, {
    "name": "example.squares.total",
    "description": "The completion of example.squares."
  }]
});

static taskrt_outcome finish(taskrt_arena *arena, uint64_t sum) {
  taskrt_str result = taskrt_format(arena, "%llu", (unsigned long long)sum);
  return taskrt_succeed(result.text, result.length);
}

/* number reads a text of digits; false if it is none, or has more than nine. */
static bool number(taskrt_str text, int64_t *n) {
  *n = 0;
  for (size_t i = 0; i < text.length; i++) {
    if (text.text[i] < '0' || text.text[i] > '9') return false;
    *n = *n * 10 + (text.text[i] - '0');
  }
  return text.length > 0 && text.length < 10;
}

/* A partition takes each number that leaves its own number as the remainder of a division by the parts. */
static taskrt_outcome share(void) {
  taskrt_arena arena = {0};
  taskrt_operation task;
  taskrt_outcome bad_params;
  if (!taskrt_operation_task(&arena, &task, &bad_params)) return bad_params;
  int64_t n, parts, own;
  if (!taskrt_json_int64(taskrt_json_get(task.arg, "n"), &n) || n < 0 || n > 1000000) return taskrt_fail("no_n", "the argument has no \"n\" of 0 to 1000000");
  if (!taskrt_json_int64(taskrt_json_get(task.arg, "parts"), &parts) || parts < 1) return taskrt_fail("no_parts", "the argument has no \"parts\"");
  if (!number(task.partition, &own)) return taskrt_fail("no_number", "partitions have no names here: start it with their number");
  uint64_t sum = 0;
  for (int64_t i = own; i <= n; i += parts) {
    sum += (uint64_t)i * (uint64_t)i;
  }
  return finish(&arena, sum);
}

static taskrt_outcome total(void) {
  taskrt_arena arena = {0};
  taskrt_operation task;
  taskrt_outcome bad_params;
  if (!taskrt_operation_task(&arena, &task, &bad_params)) return bad_params;
  taskrt_partitions all = taskrt_partitions_from(0);
  uint64_t sum = 0;
  int32_t status;
  for (taskrt_partition p; (status = taskrt_next_partition(&all, &p)) > 0;) {
    int64_t n;
    if (taskrt_json_int64(p.result, &n)) sum += (uint64_t)n;
  }
  if (status < 0) return taskrt_refused("the partitions", status);
  return finish(&arena, sum);
}

TASKRT_BEHAVIORS({"example.squares", share}, {"example.squares.total", total});
