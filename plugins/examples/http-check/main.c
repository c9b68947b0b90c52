/* Is a page there? {"url":"https://example.com/","status":200,"text":"Example"} → {"ok":true,"status":200,"bytes":1256,"ms":81}. The
 * capability http has to be granted: see docs/capabilities.md. */
#define TASKRT_IMPLEMENTATION
#include "taskrt.h"

TASKRT_IMPORT("taskrt_http_v1", "request") int32_t http_request(const void *head, size_t n, const void *body, size_t m);
TASKRT_IMPORT("taskrt_http_v1", "len") int32_t http_len(int32_t part);
TASKRT_IMPORT("taskrt_http_v1", "read") int32_t http_read(int32_t part, void *to, size_t off, size_t n);
enum { HTTP_BODY = 1, HTTP_ERROR = 2 };

static taskrt_arena arena;

static taskrt_str part(int32_t which) {
  int32_t n = http_len(which);
  if (n < 0) return TASKRT_STR("");
  char *text = taskrt_alloc(&arena, (size_t)n + 1);
  http_read(which, text, 0, (size_t)n);
  text[n] = 0;
  return (taskrt_str){text, (size_t)n};
}

static bool contains(taskrt_str text, taskrt_str words) {
  for (size_t at = 0; at + words.length <= text.length; at++) {
    if (__builtin_memcmp(text.text + at, words.text, words.length) == 0) return true;
  }
  return false;
}

static taskrt_outcome answer(bool ok, int64_t status, taskrt_str body, int64_t ms, const char *why) {
  static char out[1024];
  taskrt_writer w = taskrt_result_writer(out, sizeof out);
  taskrt_json_open(&w, '{');
  taskrt_json_name(&w, "ok");
  taskrt_json_put_bool(&w, ok);
  taskrt_json_name(&w, "status");
  taskrt_json_put_int64(&w, status);
  taskrt_json_name(&w, "bytes");
  taskrt_json_put_int64(&w, (int64_t)body.length);
  taskrt_json_name(&w, "ms");
  taskrt_json_put_int64(&w, ms);
  if (!ok) {
    taskrt_json_name(&w, "why");
    taskrt_json_put_string(&w, why);
  }
  taskrt_json_close(&w, '}');
  return taskrt_finish(&w);
}

static taskrt_outcome check(void) {
  taskrt_json params;
  taskrt_outcome bad_params;
  taskrt_str url, text = TASKRT_STR("");
  int64_t want = 200;
  if (!taskrt_params_json(&arena, &params, &bad_params)) return bad_params;
  taskrt_json status = taskrt_json_get(params, "status"), words = taskrt_json_get(params, "text");
  if (!taskrt_json_string(taskrt_json_get(params, "url"), &arena, &url)) return taskrt_fail("bad_params", "url must be a string");
  if (taskrt_json_kind_of(status) != TASKRT_JSON_ABSENT && (!taskrt_json_int64(status, &want) || want < 100 || want > 599)) {
    return taskrt_fail("bad_params", "status must be an integer from 100 to 599");
  }
  if (taskrt_json_kind_of(words) != TASKRT_JSON_ABSENT && !taskrt_json_string(words, &arena, &text)) return taskrt_fail("bad_params", "text must be a string");

  char head[9000]; /* URLs may have 8 KiB */
  taskrt_writer w = taskrt_writer_of(head, sizeof head);
  taskrt_json_open(&w, '{');
  taskrt_json_name(&w, "url");
  taskrt_json_put_str(&w, url);
  taskrt_json_close(&w, '}');
  if (w.status < 0) return taskrt_fail("bad_params", "url is too long");

  int64_t begun = taskrt_elapsed_ns();
  int32_t got = http_request(head, w.length, "", 0);
  int64_t ms = (taskrt_elapsed_ns() - begun) / 1000000;
  taskrt_str body = part(HTTP_BODY);
  switch (got) {
    case TASKRT_EINVAL: return taskrt_fail("bad_params", "%s", part(HTTP_ERROR).text);
    case TASKRT_EDENIED: return taskrt_fail("denied", "%s", part(HTTP_ERROR).text);
    case TASKRT_ECONFLICT: return taskrt_refused("request", got);
    default: break;
  }
  if (got < 0) return answer(false, 0, body, ms, part(HTTP_ERROR).text); /* who checks wants to know that, and no retry */
  if (got != want) return answer(false, got, body, ms, taskrt_format(&arena, "status %d, not %d", (int)got, (int)want).text);
  if (!contains(body, text)) return answer(false, got, body, ms, "the text is not in the body");
  return answer(true, got, body, ms, "");
}

TASKRT_MANIFEST({"schema": 1, "requires": ["http"], "behaviors": [{
  "name": "http-check",
  "description": "asks for a page: {\"url\":\"https://example.com/\"} → {\"ok\":true,\"status\":200,\"bytes\":…,\"ms\":…}",
  "retry": {"max_attempts": 3},
  "run_timeout": "2m"
}]});

TASKRT_BEHAVIORS({"http-check", check});
