/* The guest of TestCJSON: reads texts, and says what each holds. Params are texts, each behind its length (u32, the lowest byte first);
 * the result is an array with [VALUE] for each text that is JSON, and for others the byte where it stops being JSON. */
#define TASKRT_IMPLEMENTATION
#include "taskrt.h"

static void put(taskrt_writer *w, taskrt_arena *arena, taskrt_json v);

static void put_all(taskrt_writer *w, taskrt_arena *arena, taskrt_json v, bool named) {
  taskrt_json_open(w, named ? '{' : '[');
  taskrt_json_iter i = taskrt_json_all(v);
  for (taskrt_json name, value; taskrt_json_next(&i, &name, &value);) {
    void *mark = taskrt_mark(arena);
    taskrt_str key;
    if (named) {
      TASKRT_ASSERT(taskrt_json_string(name, arena, &key));
      taskrt_json_name_str(w, key);
      if (__builtin_strlen(key.text) == key.length) TASKRT_ASSERT(taskrt_json_is(name, key.text));
    }
    put(w, arena, value);
    taskrt_release(arena, mark);
  }
  taskrt_json_close(w, named ? '}' : ']');
}

static void put_number(taskrt_writer *w, taskrt_json v) {
  int64_t n;
  double d;
  bool whole = true;
  for (size_t i = 0; i < v.length; i++) whole = whole && v.text[i] != '.' && v.text[i] != 'e' && v.text[i] != 'E';
  if (whole && taskrt_json_int64(v, &n) && (n != 0 || v.length == 1)) taskrt_json_put_int64(w, n);
  else if (taskrt_json_double(v, &d)) taskrt_json_put_double(w, d);
  else taskrt_json_put_string(w, "out of range");
}

static void put(taskrt_writer *w, taskrt_arena *arena, taskrt_json v) {
  bool b;
  taskrt_str s;
  switch (taskrt_json_kind_of(v)) {
  case TASKRT_JSON_OBJECT: put_all(w, arena, v, true); break;
  case TASKRT_JSON_ARRAY: put_all(w, arena, v, false); break;
  case TASKRT_JSON_STRING:
    TASKRT_ASSERT(taskrt_json_string(v, arena, &s));
    taskrt_json_put_str(w, s);
    break;
  case TASKRT_JSON_NUMBER: put_number(w, v); break;
  case TASKRT_JSON_BOOL:
    TASKRT_ASSERT(taskrt_json_bool(v, &b));
    taskrt_json_put_bool(w, b);
    break;
  case TASKRT_JSON_NULL: taskrt_json_put_null(w); break;
  case TASKRT_JSON_ABSENT: taskrt_panic("a value is absent");
  }
}

static taskrt_outcome run(void) {
  taskrt_arena arena = {0};
  taskrt_reader r = taskrt_params_reader();
  char buffer[4096];
  taskrt_writer w = taskrt_result_writer(buffer, sizeof buffer);
  taskrt_json_open(&w, '[');
  for (uint32_t n; taskrt_read(&r, &n, sizeof n) == sizeof n;) {
    void *mark = taskrt_mark(&arena);
    char *text = taskrt_alloc(&arena, n); /* to its last byte: what reads on is seen by the sanitizers */
    if (n > 0) TASKRT_ASSERT(taskrt_read(&r, text, n) == (int32_t)n);
    taskrt_json v;
    taskrt_json_error error;
    if (taskrt_json_parse(text, n, &v, &error)) {
      taskrt_json_open(&w, '[');
      put(&w, &arena, v);
      taskrt_json_close(&w, ']');
    } else {
      TASKRT_ASSERT(error.what != NULL && v.length == 0);
      taskrt_json_put_uint64(&w, error.at);
    }
    taskrt_release(&arena, mark);
  }
  taskrt_json_close(&w, ']');
  return taskrt_finish(&w);
}

TASKRT_MANIFEST({"schema": 1, "behaviors": [{"name": "json"}]});
TASKRT_BEHAVIORS({"json", run});
