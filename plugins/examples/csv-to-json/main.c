/* CSV to JSON: {"csv":"name,n\nAda,1\n"} → [{"name":"Ada","n":"1"}]. The CSV may be a blob larger than memory: it is read, and the
 * result written, in pieces. */
#define TASKRT_IMPLEMENTATION
#include "taskrt.h"

#include "csv.h"

enum { COLUMNS_MAX = 1000, HEADER_MAX = 64 << 10, PIECE = 16 << 10 };

static taskrt_arena arena;
static char piece[PIECE], out[PIECE];

/* What the functions of the reader know. */
static csv reader;
static taskrt_writer result;
static taskrt_str columns[COLUMNS_MAX];
static int64_t column_count;
static size_t header_bytes;
static bool in_header = true;

static bool header_field(csv *c) {
  if (c->fields == COLUMNS_MAX) return csv_fail(c, "a header of more than 1000 columns");
  header_bytes += c->length;
  if (header_bytes > HEADER_MAX) return csv_fail(c, "a header of more than 65536 bytes");
  taskrt_str name = taskrt_format(&arena, "%.*s", (int)c->length, c->text);
  if (name.length != c->length) return csv_fail(c, "a zero byte in a column's name");
  for (int64_t i = 0; i < c->fields; i++) {
    if (taskrt_str_is(columns[i], name.text)) return csv_fail(c, taskrt_format(&arena, "two columns are called \"%s\"", name.text).text);
  }
  columns[c->fields] = name;
  return true;
}

static bool field(csv *c) {
  if (in_header) return header_field(c);
  if (c->fields == column_count) return csv_fail(c, taskrt_format(&arena, "more fields than the header's %lld", (long long)column_count).text);
  if (c->fields == 0) taskrt_json_open(&result, '{');
  taskrt_json_name_str(&result, columns[c->fields]);
  taskrt_json_put_str(&result, (taskrt_str){c->text, c->length});
  return true;
}

static bool record(csv *c) {
  if (in_header) {
    in_header = false;
    column_count = c->fields;
    return true;
  }
  if (c->fields < column_count) {
    c->line = c->record_line;
    c->column = 1;
    return csv_fail(c, taskrt_format(&arena, "a record of fewer fields than the header's %lld", (long long)column_count).text);
  }
  taskrt_json_close(&result, '}');
  return result.status == 0; /* else it is over the limit: what follows need not be read */
}

/* failed is the outcome when the reader has stopped. */
static taskrt_outcome failed(void) {
  if (reader.error == NULL) return taskrt_finish(&result);
  taskrt_str where = taskrt_format(&arena, "{\"line\":%lld,\"column\":%lld}", (long long)reader.line, (long long)reader.column);
  taskrt_details(where.text, where.length);
  return taskrt_fail("bad_csv", "line %lld, column %lld: %s", (long long)reader.line, (long long)reader.column, reader.error);
}

static taskrt_outcome finish(void) {
  if (!csv_end(&reader)) return failed();
  if (in_header) {
    reader.line = reader.column = 1;
    csv_fail(&reader, "there is no header");
    return failed();
  }
  taskrt_json_close(&result, ']');
  return taskrt_finish(&result);
}

/* skip_mark passes over the byte order mark that some programs begin UTF-8 with. */
static size_t skip_mark(const char *text, size_t n) { return n >= 3 && __builtin_memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; }

static taskrt_outcome convert_text(taskrt_str text) {
  size_t skip = skip_mark(text.text, text.length);
  return csv_write(&reader, text.text + skip, text.length - skip) ? finish() : failed();
}

static taskrt_outcome convert_blob(taskrt_str name) {
  taskrt_reader blob;
  int32_t status = taskrt_blob(&blob, name), n;
  if (status == TASKRT_EINVAL || status == TASKRT_ENOENT) return taskrt_fail("bad_params", "csv: the blob is %s", taskrt_status_text(status));
  if (status < 0) return taskrt_refused("csv", status);
  while ((n = taskrt_read(&blob, piece, sizeof piece)) > 0) {
    size_t skip = blob.at == n ? skip_mark(piece, (size_t)n) : 0;
    if (!csv_write(&reader, piece + skip, (size_t)n - skip)) return failed();
    if (taskrt_cancelled(taskrt_heartbeat(blob.at, blob.size))) return TASKRT_CANCELLED;
  }
  return n < 0 ? taskrt_refused("csv", n) : finish();
}

static taskrt_outcome csv_to_json(void) {
  taskrt_json params, csv = {0};
  taskrt_outcome bad_params;
  taskrt_str text, delimiter = TASKRT_STR(",");
  if (!taskrt_params_json(&arena, &params, &bad_params)) return bad_params;
  taskrt_json_iter members = taskrt_json_all(params);
  for (taskrt_json name, value; taskrt_json_next(&members, &name, &value);) {
    if (taskrt_json_is(name, "csv")) {
      csv = value;
    } else if (!taskrt_json_is(name, "delimiter")) {
      return taskrt_fail("bad_params", "params may have csv and delimiter, not %.*s", (int)name.length, name.text);
    } else if (!taskrt_json_string(value, &arena, &delimiter) || delimiter.length != 1 || delimiter.text[0] < ' ' || delimiter.text[0] == '"') {
      if (!taskrt_json_is(value, "\t")) return taskrt_fail("bad_params", "delimiter must be one ASCII character, a tab included, but no quote");
    }
  }
  reader.delimiter = delimiter.text[0];
  reader.field = field;
  reader.record = record;
  reader.line = 1;
  result = taskrt_result_writer(out, sizeof out);
  taskrt_json_open(&result, '[');
  if (taskrt_json_string(csv, &arena, &text)) return convert_text(text);
  if (taskrt_json_blob(csv, &arena, &text)) return convert_blob(text);
  return taskrt_fail("bad_params", "params must be {\"csv\":\"…\"} or {\"csv\":{\"$blob\":\"sha256:…\"}}");
}

TASKRT_MANIFEST({"schema": 1, "requires": ["blob"], "behaviors": [{
  "name": "csv-to-json",
  "description": "CSV with a header to JSON: {\"csv\":\"name,n\\nAda,1\\n\"} → [{\"name\":\"Ada\",\"n\":\"1\"}]",
  "id": {"strategy": "params"},
  "retry": {"max_attempts": 3},
  "run_timeout": "5m",
  "limits": {"memory_bytes": 8388608, "params_bytes": 1048576}
}]});

TASKRT_BEHAVIORS({"csv-to-json", csv_to_json});
