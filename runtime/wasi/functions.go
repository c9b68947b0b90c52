package wasi

import (
	"encoding/binary"

	"github.com/tetratelabs/wazero/api"
)

// Module is the name from which the functions are imported.
const Module = "wasi_snapshot_preview1"

// Function is one function of WASI. Params are written i for i32 and I for i64. All functions but proc_exit return a
// status, an i32; the host of the program does proc_exit itself.
type Function struct {
	Name   string
	Params string
	Names  []string // of the parameters
	call   func(*call) errno
}

// Call calls the function. stack holds the parameters before the call, and the status after it.
func (f *Function) Call(p Process, mem api.Memory, stack []uint64) {
	stack[0] = uint64(f.call(&call{p, mem, stack}))
}

// call is one call of a function.
type call struct {
	Process

	mem   api.Memory
	stack []uint64
}

func (c *call) u32(i int) uint32 { return uint32(c.stack[i]) }

func (c *call) u64(i int) uint64 { return c.stack[i] }

// view returns guest memory [ptr, ptr+n); ok is false if some of it is not there.
func (c *call) view(ptr, n uint32) (b []byte, ok bool) { return c.mem.Read(ptr, n) }

// set writes a number to the place to which parameter i points.
func (c *call) set(i int, v uint32) errno {
	if !c.mem.WriteUint32Le(c.u32(i), v) {
		return fault
	}
	return success
}

func (c *call) set64(i int, v uint64) errno {
	if !c.mem.WriteUint64Le(c.u32(i), v) {
		return fault
	}
	return success
}

var le = binary.LittleEndian

// Functions is the whole specification except proc_exit, in its order.
var Functions = []Function{
	{"args_get", "ii", names("argv", "argv_buf"), listGet(Process.Args)},
	{"args_sizes_get", "ii", names("result.argc", "result.argv_len"), listSizes(Process.Args)},
	{"environ_get", "ii", names("environ", "environ_buf"), listGet(Process.Environ)},
	{"environ_sizes_get", "ii", names("result.environc", "result.environv_len"), listSizes(Process.Environ)},
	{"clock_res_get", "ii", names("id", "result.resolution"), clockResGet},
	{"clock_time_get", "iIi", names("id", "precision", "result.timestamp"), clockTimeGet},

	{"fd_advise", "iIIi", names("fd", "offset", "len", "advice"), fdAdvise},
	{"fd_allocate", "iII", names("fd", "offset", "len"), onStream(spipe)},
	{"fd_close", "i", names("fd"), func(c *call) errno { return c.Files().close(c.u32(0)) }},
	{"fd_datasync", "i", names("fd"), onStream(inval)},
	{"fd_fdstat_get", "ii", names("fd", "result.stat"), fdFdstatGet},
	{"fd_fdstat_set_flags", "ii", names("fd", "flags"), fdFdstatSetFlags},
	{"fd_fdstat_set_rights", "iII", names("fd", "fs_rights_base", "fs_rights_inheriting"), fdFdstatSetRights},
	{"fd_filestat_get", "ii", names("fd", "result.filestat"), fdFilestatGet},
	{"fd_filestat_set_size", "iI", names("fd", "size"), onStream(inval)},
	{"fd_filestat_set_times", "iIIi", names("fd", "atim", "mtim", "fst_flags"), onStream(notSupported)},
	{"fd_pread", "iiiIi", names("fd", "iovs", "iovs_len", "offset", "result.nread"), onStream(spipe)},
	{"fd_prestat_get", "ii", names("fd", "result.prestat"), nothingOpened},
	{"fd_prestat_dir_name", "iii", names("fd", "result.path", "result.path_len"), nothingOpened},
	{"fd_pwrite", "iiiIi", names("fd", "iovs", "iovs_len", "offset", "result.nwritten"), onStream(spipe)},
	{"fd_read", "iiii", names("fd", "iovs", "iovs_len", "result.nread"), fdRead},
	{"fd_readdir", "iiiIi", names("fd", "buf", "buf_len", "cookie", "result.bufused"), onStream(notDirectory)},
	{"fd_renumber", "ii", names("fd", "to"), func(c *call) errno { return c.Files().renumber(c.u32(0), c.u32(1)) }},
	{"fd_seek", "iIii", names("fd", "offset", "whence", "result.newoffset"), fdSeek},
	{"fd_sync", "i", names("fd"), onStream(inval)},
	{"fd_tell", "ii", names("fd", "result.offset"), onStream(spipe)},
	{"fd_write", "iiii", names("fd", "iovs", "iovs_len", "result.nwritten"), fdWrite},

	{"path_create_directory", "iii", names("fd", "path", "path_len"), onPath(0, 1)},
	{"path_filestat_get", "iiiii", names("fd", "flags", "path", "path_len", "result.filestat"), onPath(0, 2)},
	{"path_filestat_set_times", "iiiiIIi", names("fd", "flags", "path", "path_len", "atim", "mtim", "fst_flags"), onPath(0, 2)},
	{"path_link", "iiiiiii", names("old_fd", "old_flags", "old_path", "old_path_len", "new_fd", "new_path", "new_path_len"), onPath(0, 2, 4, 5)},
	{
		"path_open", "iiiiiIIii",
		names("fd", "dirflags", "path", "path_len", "oflags", "fs_rights_base", "fs_rights_inheriting", "fdflags", "result.opened_fd"), onPath(0, 2),
	},
	{"path_readlink", "iiiiii", names("fd", "path", "path_len", "buf", "buf_len", "result.bufused"), onPath(0, 1)},
	{"path_remove_directory", "iii", names("fd", "path", "path_len"), onPath(0, 1)},
	{"path_rename", "iiiiii", names("fd", "old_path", "old_path_len", "new_fd", "new_path", "new_path_len"), onPath(0, 1, 3, 4)},
	{"path_symlink", "iiiii", names("old_path", "old_path_len", "fd", "new_path", "new_path_len"), onPath(2, 3, 2, 0)},
	{"path_unlink_file", "iii", names("fd", "path", "path_len"), onPath(0, 1)},

	{"poll_oneoff", "iiii", names("in", "out", "nsubscriptions", "result.nevents"), pollOneoff},
	{"proc_raise", "i", names("sig"), func(*call) errno { return nosys }}, // there are no signals
	{"random_get", "ii", names("buf", "buf_len"), randomGet},
	{"sched_yield", "", nil, func(c *call) errno { c.Yield(); return success }},
	{"sock_accept", "iii", names("fd", "flags", "result.fd"), onStream(notSocket)},
	{"sock_recv", "iiiiii", names("fd", "ri_data", "ri_data_len", "ri_flags", "result.ro_datalen", "result.ro_flags"), onStream(notSocket)},
	{"sock_send", "iiiii", names("fd", "si_data", "si_data_len", "si_flags", "result.so_datalen"), onStream(notSocket)},
	{"sock_shutdown", "ii", names("fd", "how"), onStream(notSocket)},
}

func names(list ...string) []string { return list }

// onStream makes a function that only files or sockets could do. It answers EBADF for a descriptor that is not open, else e.
func onStream(e errno) func(*call) errno {
	return func(c *call) errno {
		if _, bad := c.Files().find(c.u32(0)); bad != success {
			return bad
		}
		return e
	}
}

// onPath makes a function over paths. at names the parameters that are a directory, and the parameters of a path
// below it with its length. No descriptor is a directory.
func onPath(at ...int) func(*call) errno {
	return func(c *call) errno {
		for i := 0; i < len(at); i += 2 {
			if _, bad := c.Files().find(c.u32(at[i])); bad != success {
				return bad
			}
		}
		for i := 1; i < len(at); i += 2 {
			if _, ok := c.view(c.u32(at[i]), c.u32(at[i]+1)); !ok {
				return fault
			}
		}
		return notDirectory
	}
}

// nothingOpened answers EBADF, because a program begins with no directories. Programs look for directories from some
// descriptor on until they get EBADF, so no other answer would do, whether the descriptor is a stream or not.
func nothingOpened(*call) errno { return badf }
