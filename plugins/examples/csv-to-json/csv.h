/* A reader of CSV (RFC 4180) that is given the text in pieces, cut anywhere, and tells of fields and records as they end. Lines end with CRLF
 * or LF; empty ones are passed over. Its memory is that of one field. */
#ifndef CSV_H
#define CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CSV_FIELD_MAX = 64 << 10 };

typedef struct csv csv;

struct csv {
  char delimiter;
  bool (*field)(csv *); /* text and length are a field; false ends the reading */
  bool (*record)(csv *); /* fields is how many it had */

  const char *error;    /* what is wrong with the text, or NULL */
  int64_t line, column; /* of it, or of the character at hand, from 1; line is to be 1 at the start */

  int64_t record_line, fields; /* of the record at hand: where it began, how many there were */
  size_t length;
  int64_t quote_line, quote_column; /* where the quoted field at hand began */
  enum { CSV_START, CSV_PLAIN, CSV_QUOTED, CSV_QUOTE, CSV_CR } state;
  char text[CSV_FIELD_MAX];
};

static bool csv_fail(csv *c, const char *error) {
  c->error = error;
  return false;
}

static bool csv_end_field(csv *c) {
  bool ok = c->field(c);
  c->fields++;
  c->length = 0;
  c->state = CSV_START;
  return ok;
}

static bool csv_end_record(csv *c) {
  bool ok = csv_end_field(c) && c->record(c);
  c->fields = 0;
  return ok;
}

static bool csv_keep(csv *c, char byte) {
  if (c->length == CSV_FIELD_MAX) return csv_fail(c, "a field of more than 65536 bytes");
  c->text[c->length++] = byte;
  return true;
}

static bool csv_byte_outside(csv *c, char byte) {
  if (byte == c->delimiter) return csv_end_field(c);
  if (byte == '\r') {
    if (c->state == CSV_START && c->fields == 0) c->record_line = 0; /* an empty line */
    c->state = CSV_CR;
    return true;
  }
  if (byte == '\n') return c->state == CSV_START && c->fields == 0 ? true : csv_end_record(c);
  if (c->state == CSV_QUOTE) return csv_fail(c, "text behind the quote that ends a field");
  if (byte != '"') {
    c->state = CSV_PLAIN;
    return csv_keep(c, byte);
  }
  if (c->state == CSV_PLAIN) return csv_fail(c, "a quote in a field that does not begin with one");
  c->state = CSV_QUOTED;
  c->quote_line = c->line;
  c->quote_column = c->column;
  return true;
}

static bool csv_byte(csv *c, char byte) {
  if (((unsigned char)byte & 0xc0) != 0x80) c->column++;
  if (c->state == CSV_START && c->fields == 0) c->record_line = c->line;
  switch (c->state) {
  case CSV_QUOTED:
    if (byte != '"') return csv_keep(c, byte);
    c->state = CSV_QUOTE;
    return true;
  case CSV_QUOTE:
    if (byte != '"') return csv_byte_outside(c, byte);
    c->state = CSV_QUOTED; /* two quotes are one */
    return csv_keep(c, byte);
  case CSV_CR:
    if (byte != '\n') return csv_fail(c, "a carriage return without a line feed");
    c->state = CSV_START;
    return c->record_line == 0 ? true : csv_end_record(c);
  default:
    return csv_byte_outside(c, byte);
  }
}

/* csv_write takes the next piece. false: error says why, or a function of the caller's has said false. */
static bool csv_write(csv *c, const char *piece, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (!csv_byte(c, piece[i])) return false;
    if (piece[i] == '\n') c->line++, c->column = 0;
  }
  return true;
}

/* csv_end says that the text is over. */
static bool csv_end(csv *c) {
  if (c->state == CSV_QUOTED) {
    c->line = c->quote_line;
    c->column = c->quote_column;
    return csv_fail(c, "a quoted field has no end");
  }
  if (c->state == CSV_CR) return csv_fail(c, "a carriage return without a line feed");
  return c->state == CSV_START && c->fields == 0 ? true : csv_end_record(c);
}

#endif
