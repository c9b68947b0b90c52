/* Something that takes a while: it counts down, a number a second, says how far it is, and logs. Whatever happens to its process or its node,
 * it goes on from the last number that it saved. */
#define TASKRT_IMPLEMENTATION
#include "taskrt.h"

TASKRT_MANIFEST({
  "schema": 1,
  "behaviors": [{
    "name": "example.countdown",
    "description": "Counts down, a number a second, with progress, log lines and checkpoints. Cancel it, or kill its node.",
    "params_schema": {
      "type": "object",
      "properties": {"from": {"type": "integer", "description": "how many seconds", "minimum": 1, "maximum": 600, "default": 20}},
      "required": ["from"],
      "additionalProperties": false
    }
  }]
});

/* left is the number to go on from: the one that was saved, else that of the params. */
static int64_t left(taskrt_arena *arena, int64_t from) {
  taskrt_str saved;
  taskrt_json value;
  taskrt_json_error error;
  int64_t n;
  if (taskrt_checkpoint(arena, &saved) && taskrt_json_parse(saved.text, saved.length, &value, &error) && taskrt_json_int64(value, &n)) {
    taskrt_log(TASKRT_INFO, "going on from %lld", (long long)n);
    return n;
  }
  return from;
}

static taskrt_outcome count_down(void) {
  taskrt_arena arena = {0};
  taskrt_json params;
  taskrt_outcome bad_params;
  if (!taskrt_params_json(&arena, &params, &bad_params)) return bad_params;
  int64_t from;
  if (!taskrt_json_int64(taskrt_json_get(params, "from"), &from)) return taskrt_fail("no_from", "params have no number \"from\"");
  for (int64_t n = left(&arena, from); n > 0; n--) {
    taskrt_str number = taskrt_format(&arena, "%lld", (long long)n);
    taskrt_save(number.text, number.length);
    taskrt_note("%lld", (long long)n);
    taskrt_log(TASKRT_INFO, "%lld …", (long long)n);
    int32_t signals = taskrt_heartbeat(from - n, from);
    if (taskrt_cancelled(signals)) return TASKRT_CANCELLED;
    if (taskrt_draining(signals)) return taskrt_yield(0);
    taskrt_sleep_ms(1000);
  }
  taskrt_heartbeat(from, from);
  const char *done = "\"lift-off\"";
  return taskrt_succeed(done, __builtin_strlen(done));
}

TASKRT_BEHAVIORS({"example.countdown", count_down});
