/* The operating system that sqlite3 finds in a guest: there are no files (SPEC B6), so every database is in memory. */
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "sqlite3.h"

static int vfs_open(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags, int *out) {
  (void)v, (void)name, (void)flags, (void)out;
  f->pMethods = 0;
  return SQLITE_CANTOPEN;
}

static int vfs_delete(sqlite3_vfs *v, const char *name, int sync) {
  (void)v, (void)name, (void)sync;
  return SQLITE_IOERR_DELETE_NOENT;
}

static int vfs_access(sqlite3_vfs *v, const char *name, int flags, int *out) {
  (void)v, (void)name, (void)flags;
  *out = 0;
  return SQLITE_OK;
}

static int vfs_full_pathname(sqlite3_vfs *v, const char *name, int size, char *out) {
  (void)v;
  sqlite3_snprintf(size, out, "%s", name);
  return SQLITE_OK;
}

static int vfs_randomness(sqlite3_vfs *v, int size, char *out) {
  (void)v;
  return getentropy(out, size < 256 ? size : 256) ? 0 : size;
}

static int vfs_sleep(sqlite3_vfs *v, int us) {
  (void)v;
  usleep(us);
  return us;
}

static int vfs_time(sqlite3_vfs *v, sqlite3_int64 *out) {
  struct timespec t;
  (void)v;
  clock_gettime(CLOCK_REALTIME, &t);
  *out = 210866760000000 + (sqlite3_int64)t.tv_sec * 1000 + t.tv_nsec / 1000000; /* Julian day of 1970 in ms */
  return SQLITE_OK;
}

static int vfs_last_error(sqlite3_vfs *v, int size, char *out) {
  (void)v, (void)size, (void)out;
  return 0;
}

int sqlite3_os_init(void) {
  static sqlite3_vfs vfs = {
      .iVersion = 2, .szOsFile = sizeof(sqlite3_file), .mxPathname = 512, .zName = "none",
      .xOpen = vfs_open, .xDelete = vfs_delete, .xAccess = vfs_access, .xFullPathname = vfs_full_pathname,
      .xRandomness = vfs_randomness, .xSleep = vfs_sleep, .xGetLastError = vfs_last_error, .xCurrentTimeInt64 = vfs_time,
  };
  return sqlite3_vfs_register(&vfs, 1);
}

int sqlite3_os_end(void) { return SQLITE_OK; }
