package runtime

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/runtime/manifest"
	"github.com/taskrt/taskrt/runtime/upload"
	"github.com/taskrt/taskrt/runtime/wasi"
	"github.com/taskrt/taskrt/runtime/wasmbin"
)

func TestInspectRefuses(t *testing.T) {
	e := newEngine(t, Config{MaxModuleBytes: 1 << 20})
	host := func(module, name, params, results string) []wasmImport {
		return []wasmImport{{module: module, name: name, params: params, results: results}}
	}
	only := func(s wasmSpec) []byte {
		s.exports = append(s.exports, succeed)
		return s.build()
	}
	const named = `{"behaviors":[{"name":"abc"}]}`
	for _, tt := range []struct {
		name  string
		wasm  []byte
		code  upload.Code
		field string
		says  string
	}{
		{"empty", nil, upload.NotWasm, "", ""},
		{"text", []byte("hello, world"), upload.NotWasm, "", ""},
		{"too large", make([]byte, 1<<20+1), upload.TooLarge, "", "1048577 bytes, more than 1048576"},
		{"truncated", guestFile(t, "echo")[:50], upload.Truncated, "", ""},
		{"component", []byte("\x00asm\x0d\x00\x01\x00"), upload.ComponentBinary, "", "component"},
		{"too many sections", append(only(wasmSpec{}), bytes.Repeat([]byte{0, 1, 0}, wasmbin.MaxSections)...), upload.TooComplex, "custom section", ""},
		{"next ABI", guestFile(t, "bad-abi"), upload.ABIVersion, "import taskrt_v2.len", "needs ABI taskrt_v2; this host speaks taskrt_v1"},
		{"host's own imports", only(wasmSpec{imports: host("taskrt_sys", "tick", "", "")}), upload.BadImport, "import taskrt_sys.tick", "reserved"},
		{"unknown import module", only(wasmSpec{imports: host("env", "f", "", "")}), upload.BadImport, "import env.f", `"env"`},
		{"unknown function", only(wasmSpec{imports: host("taskrt_v1", "lenn", "i", "i")}), upload.BadImport, "import taskrt_v1.lenn", ""},
		{
			"other signature", only(wasmSpec{imports: host("taskrt_v1", "len", "I", "i")}), upload.BadImport, "import taskrt_v1.len",
			"(i64) -> (i32), should be (i32) -> (i32)",
		},
		{"unknown WASI function", only(wasmSpec{imports: host(wasi.Module, "fd_fly", "i", "i")}), upload.BadImport, "", ""},
		{"other WASI signature", only(wasmSpec{imports: host(wasi.Module, "sched_yield", "i", "i")}), upload.BadImport, "", ""},
		{
			"imported memory", only(wasmSpec{imports: []wasmImport{{module: "taskrt_v1", name: "memory", kind: 2}}}),
			upload.BadImport, "import taskrt_v1.memory", "memory",
		},
		{"reserved export", only(wasmSpec{exports: []wasmExport{{"__taskrt_fuel", "", "", nil}}}), upload.BadExport, "export __taskrt_fuel", ""},
		{"no memory", only(wasmSpec{noMemory: true}), upload.MissingExport, "export memory", ""},
		{"memory by another name", only(wasmSpec{memName: "mem"}), upload.MissingExport, "export memory", ""},
		{"shared memory", only(wasmSpec{memory: []byte{3, 1, 2}}), upload.BadMemory, "memory", "shared"},
		{"64-bit memory", only(wasmSpec{memory: []byte{4, 1}}), upload.BadMemory, "memory", "64-bit"},
		{"memory over any limit", only(wasmSpec{memory: append([]byte{0}, leb(manifest.MaxMemoryBytes/65536+1)...)}), upload.MemoryLimit, "memory", ""},
		{
			"memory over the manifest's limit",
			only(wasmSpec{memory: []byte{0, 2}, manifest: `{"behaviors":[{"name":"abc","limits":{"memory_bytes":65536}}]}`}),
			upload.MemoryLimit, "behaviors[0].limits.memory_bytes", "",
		},
		{"memory over the default limit", only(wasmSpec{memory: append([]byte{0}, leb(1025)...), manifest: named}), upload.MemoryLimit, "", ""},
		{"elements that do not fit", guestFile(t, "bad-elem"), upload.BadSegment, "element segment 0", "1 at offset 5, of 2 elements of table 0"},
		{"data that does not fit", guestFile(t, "bad-data"), upload.BadSegment, "data segment 1", "8 at offset 65530, of 65536 bytes of memory"},
		{"no taskrt_run", guestFile(t, "no-export"), upload.MissingExport, "export taskrt_run", "SDK"},
		{"_start of another type", wasmSpec{exports: []wasmExport{{"_start", "i", "", nil}}}.build(), upload.BadExport, "export _start", "should be () -> ()"},
		{"command and reactor", wasmSpec{exports: []wasmExport{{"_start", "", "", nil}, {"_initialize", "", "", nil}}}.build(), upload.BadExport, "export _initialize", "not both"},
		{"command without a name", wasmSpec{exports: []wasmExport{{"_start", "", "", nil}}}.build(), upload.BadManifest, "behaviors[0].name", ""},
		{"command without a memory", wasmSpec{noMemory: true, exports: []wasmExport{{"_start", "", "", nil}}}.build(), upload.MissingExport, "export memory", ""},
		{"taskrt_run of another type", wasmSpec{exports: []wasmExport{{"taskrt_run", "", "i", []byte{0x41, 0}}}}.build(), upload.BadExport, "export taskrt_run", ""},
		{"_initialize of another type", only(wasmSpec{exports: []wasmExport{{"_initialize", "i", "", nil}}}), upload.BadExport, "export _initialize", ""},
		{"atomics", only(wasmSpec{exports: []wasmExport{run(0xfe, 0x03, 0, 0x41, 0)}, manifest: named}), upload.Unsupported, "code of function 0", "threads"},
		{"manifest that is not JSON", only(wasmSpec{manifest: `{"behaviors":`}), upload.BadManifest, "", "too early"},
		{
			"unknown field", only(wasmSpec{manifest: `{"behaviors":[{"name":"abc","retry":{"max_atempts":3}}]}`}),
			upload.BadManifest, "behaviors[0].retry.max_atempts", "unknown field",
		},
		{"two manifests", wasmbin.AppendCustom(only(wasmSpec{manifest: named}), "taskrt.manifest", []byte(named)), upload.BadManifest, "section taskrt.manifest", ""},
		{"unknown capability", only(wasmSpec{manifest: `{"behaviors":[{"name":"abc"}],"requires":["random","kv"]}`}), upload.UnknownCapability, "requires[1]", `"kv"`},
		{"nothing says the name", only(wasmSpec{}), upload.BadManifest, "behaviors[0].name", ""},
		{"code that does not validate", wasmSpec{exports: []wasmExport{run(0x42, 0)}, manifest: named}.build(), upload.CompileFailed, "", ""},
		{
			"taskrt_describe that traps", only(wasmSpec{exports: []wasmExport{{"taskrt_describe", "", "", []byte{0x00}}}}),
			upload.DescribeFailed, "", "unreachable",
		},
		{
			"_initialize that traps", only(wasmSpec{exports: []wasmExport{{"_initialize", "", "", []byte{0x00}}}, manifest: named}),
			upload.TrialFailed, "", "unreachable",
		},
		{
			"taskrt_describe without end", only(wasmSpec{exports: []wasmExport{{"taskrt_describe", "", "", []byte{0x03, 0x40, 0x0c, 0, 0x0b}}}}),
			upload.DescribeFailed, "", "OUT_OF_FUEL",
		},
		{
			"_initialize with a bad pointer", only(wasmSpec{
				imports: []wasmImport{{module: "taskrt_v1", name: "log", params: "iii"}},
				exports: []wasmExport{{"_initialize", "", "", []byte{0x41, 2, 0x41, 0x7f, 0x41, 2, 0x10, 0}}}, manifest: named,
			}),
			upload.TrialFailed, "", "log: pointer 0xffffffff with length 2 is outside",
		},
		{"both ABIs", only(wasmSpec{imports: append(host("taskrt_v1", "len", "i", "i"), host("taskrt_v2", "len", "i", "i")...)}), upload.ABIVersion, "import taskrt_v2.len", "taskrt_v1"},
		{
			"_initialize without end", only(wasmSpec{exports: []wasmExport{{"_initialize", "", "", []byte{0x03, 0x40, 0x0c, 0, 0x0b}}}, manifest: named}),
			upload.TrialFailed, "", "OUT_OF_FUEL",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := e.Inspect(t.Context(), tt.wasm, nil, "")
			bad := uploadError(t, err)
			if bad.Code != tt.code || (tt.field != "" && bad.Field != tt.field) || !strings.Contains(bad.Message, tt.says) {
				t.Errorf("got %v, want %s: %s: …%s…", bad, tt.code, tt.field, tt.says)
			}
		})
	}
	if n := len(e.modules); n != 0 {
		t.Errorf("%d modules are kept", n)
	}
	if e.memory.Used() != 0 {
		t.Errorf("%d bytes of memory are kept", e.memory.Used())
	}
	if _, err := e.Inspect(t.Context(), guestFile(t, "echo"), nil, ""); err != nil {
		t.Error("after all that, a good module is refused:", err)
	}
}

func TestInspectFindsTheManifest(t *testing.T) {
	e := newEngine(t, Config{})
	given := &manifest.Manifest{Behaviors: []manifest.Behavior{{Name: "given"}}, Schema: 1}
	section := wasmSpec{exports: []wasmExport{succeed}, manifest: `{"behaviors":[{"name":"section"}]}`}.build()
	two := wasmSpec{exports: []wasmExport{succeed}, manifest: `{"behaviors":[{"name":"one"},{"name":"two"}]}`}.build()
	bare := wasmSpec{exports: []wasmExport{succeed}}.build()
	for _, tt := range []struct {
		name  string
		wasm  []byte
		given *manifest.Manifest
		as    string
		want  string // name of the behavior, or the field of an error
	}{
		{"given wins", section, given, "", "given"},
		{"section", section, nil, "", "section"},
		{"section, renamed", section, nil, "other", "other"},
		{"given, renamed", section, given, "other", "other"},
		{"taskrt_describe", describing(`{"behaviors":[{"name":"described"}]}`), nil, "", "described"},
		{"taskrt_describe, renamed", describing(`{"behaviors":[{"name":"described"}]}`), nil, "other", "other"},
		{"taskrt_describe without a name", describing(`{"behaviors":[{}]}`), nil, "other", "other"},
		{"taskrt_describe that writes nothing", describing(``), nil, "other", "other"},
		{"taskrt_describe that writes nonsense", describing(`{"behaviours":[]}`), nil, "", "behaviours!"},
		{"defaults", bare, nil, "bare", "bare"},
		{"defaults without a name", bare, nil, "", "behaviors[0].name!"},
		{"name that is none", bare, nil, "No Name", "name!"},
		{"name for two", two, nil, "other", "name!"},
		{"given that is wrong", section, &manifest.Manifest{Schema: 1, Behaviors: []manifest.Behavior{{Name: "x"}}}, "", "behaviors[0].name!"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in, err := e.Inspect(t.Context(), tt.wasm, tt.given, tt.as)
			if field, wrong := strings.CutSuffix(tt.want, "!"); wrong {
				if bad := uploadError(t, err); bad.Code != upload.BadManifest || bad.Field != field {
					t.Errorf("got %v, want an error about %s", bad, field)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := in.Manifest.Behaviors[0].Name; got != tt.want {
				t.Errorf("got behavior %q", got)
			}
			if in.Digest != Digest(tt.wasm) || in.Size != int64(len(tt.wasm)) || in.Version != Version(in.Digest, in.ManifestJSON) {
				t.Errorf("got %+v", in)
			}
		})
	}
}

// describing is a module whose taskrt_describe writes text to channel 19.
func describing(text string) []byte {
	// The text lies nowhere in memory at first: i32.store8 puts it there, byte by byte.
	var code []byte
	for i, c := range []byte(text) {
		code = append(code, 0x41)
		code = append(code, sleb(i)...)
		code = append(code, 0x41)
		code = append(code, sleb(int(c))...)
		code = append(code, 0x3a, 0, 0)
	}
	code = append(code, 0x41, 19, 0x41, 0, 0x41)
	code = append(code, sleb(len(text))...)
	code = append(code, 0x10, 0, 0x1a) // write, drop
	return wasmSpec{
		imports: []wasmImport{{module: "taskrt_v1", name: "write", params: "iii", results: "i"}},
		exports: []wasmExport{{"taskrt_describe", "", "", code}, succeed},
	}.build()
}

// sleb encodes a small signed number for i32.const.
func sleb(n int) []byte {
	var out []byte
	for {
		b := byte(n & 0x7f)
		n >>= 7
		if (n == 0 && b&0x40 == 0) || (n == -1 && b&0x40 != 0) {
			return append(out, b)
		}
		out = append(out, b|0x80)
	}
}

func TestInspectStopsWithItsContext(t *testing.T) {
	e := newEngine(t, Config{})
	spin := wasmSpec{exports: []wasmExport{{"_initialize", "", "", []byte{0x03, 0x40, 0x0c, 0, 0x0b}}, succeed}}.build()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the uploader went away")
	defer time.AfterFunc(20*time.Millisecond, func() { cancel(why) }).Stop()
	if _, err := e.Inspect(ctx, spin, nil, "spin"); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
}

func TestVersionDependsOnBoth(t *testing.T) {
	seen := map[string]bool{}
	for _, digest := range []string{"aa", "ab"} {
		for _, manifest := range []string{`{}`, `{"a":1}`} {
			seen[Version(digest, []byte(manifest))] = true
		}
	}
	if len(seen) != 4 || seen[""] {
		t.Errorf("versions are %v", seen)
	}
}
