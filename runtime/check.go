package runtime

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime/manifest"
	"github.com/taskrt/taskrt/runtime/upload"
	"github.com/taskrt/taskrt/runtime/wasmbin"
)

// signature is the type of a function made of i32 (i) and i64 (I).
func signature(params, results string) wasmbin.FuncType {
	types := func(s string) []wasmbin.ValType {
		ts := make([]wasmbin.ValType, len(s))
		for i := range s {
			ts[i] = wasmbin.I32
			if s[i] == 'I' {
				ts[i] = wasmbin.I64
			}
		}
		return ts
	}
	return wasmbin.FuncType{Params: types(params), Results: types(results)}
}

// allowed is what a guest may import: module, then function, then its exact signature.
type allowed map[string]map[string]wasmbin.FuncType

func hostSignatures(functions []hostFunction) map[string]wasmbin.FuncType {
	sigs := make(map[string]wasmbin.FuncType)
	for _, f := range functions {
		sigs[f.name] = signature(f.params, f.results)
	}
	return sigs
}

// parse walks the sections and translates refusals.
func parse(wasm []byte) (*wasmbin.Module, error) {
	m, err := wasmbin.Parse(wasm)
	if err != nil {
		return nil, asUploadError(err)
	}
	return m, nil
}

// asUploadError translates what wasmbin and meter refuse.
func asUploadError(err error) error {
	var bad *wasmbin.Error
	if !errors.As(err, &bad) {
		return err
	}
	return &upload.Error{
		Code:    upload.Code(bad.Reason), // the reasons are our codes by the same names
		Message: fmt.Sprintf("%s (at byte %d)", bad.Message, bad.Offset), Field: bad.Where, Limit: bad.Limit,
	}
}

// checkModule checks imports, exports and the memory of a parsed module against the ABI.
func checkModule(m *wasmbin.Module, allow allowed) error {
	for _, i := range m.Imports {
		if err := checkImport(i, allow); err != nil {
			return err
		}
	}
	for _, e := range m.Exports {
		if strings.HasPrefix(e.Name, abi.ExportReserved) {
			return upload.Errorf(upload.BadExport, "export "+e.Name, "export names beginning with %s are reserved", abi.ExportReserved)
		}
	}
	if err := checkMemory(m); err != nil {
		return err
	}
	if err := m.CheckSegments(); err != nil {
		return asUploadError(err)
	}
	return checkExports(m)
}

func checkImport(i wasmbin.Import, allow allowed) error {
	field := "import " + i.Module + "." + i.Name
	if version, ok := strings.CutPrefix(i.Module, abi.ModulePrefix); ok && i.Module != abi.Module && version != "" {
		return upload.Errorf(upload.ABIVersion, field, "the module needs ABI %s; this host speaks %s", i.Module, abi.Module)
	}
	functions, ok := allow[i.Module]
	switch {
	case i.Module == abi.ModuleReserved:
		return upload.Errorf(upload.BadImport, field, "import module %s is reserved for the host", abi.ModuleReserved)
	case !ok:
		return upload.Errorf(upload.BadImport, field, "unknown import module %q; there are %s", i.Module, strings.Join(slices.Sorted(maps.Keys(allow)), ", "))
	case i.Kind != wasmbin.KindFunc:
		return upload.Errorf(upload.BadImport, field, "a %s cannot be imported, only functions", i.Kind)
	}
	want, ok := functions[i.Name]
	switch {
	case !ok:
		return upload.Errorf(upload.BadImport, field, "%s has no function %q", i.Module, i.Name)
	case !i.Type.Equal(want):
		return upload.Errorf(upload.BadImport, field, "has signature %s, should be %s", i.Type, want)
	}
	return nil
}

func checkMemory(m *wasmbin.Module) error {
	e, ok := m.Export(abi.ExportMemory)
	switch {
	case !ok:
		return upload.Errorf(upload.MissingExport, "export "+abi.ExportMemory, "the module exports no memory by this name")
	case e.Kind != wasmbin.KindMemory:
		return upload.Errorf(upload.MissingExport, "export "+abi.ExportMemory, "this is a %s, not a memory", e.Kind)
	case len(m.Memories) != 1 || e.Index != 0:
		return upload.Errorf(upload.BadMemory, "memory", "the module has %d memories; it must have one", len(m.Memories))
	}
	mem := m.Memories[0]
	switch {
	case mem.Shared:
		return upload.Errorf(upload.BadMemory, "memory", "the memory is shared (threads), which is not supported")
	case mem.Is64:
		return upload.Errorf(upload.BadMemory, "memory", "the memory is 64-bit, which is not supported")
	case mem.Min > manifest.MaxMemoryBytes/wasmbin.PageSize:
		return memoryLimit("memory", mem.Min, manifest.MaxMemoryBytes)
	}
	return nil
}

func memoryLimit(field string, pages uint64, limit int64) error {
	return &upload.Error{
		Code: upload.MemoryLimit, Field: field, Limit: limit,
		Message: fmt.Sprintf("the module's memory begins with %d pages (%d KiB), over the limit of %d KiB", pages, pages*64, limit>>10),
	}
}

func checkExports(m *wasmbin.Module) error {
	e, ok := m.Export(abi.ExportRun)
	switch {
	case ok:
	case isCommand(m):
		return checkCommand(m)
	default:
		return upload.Errorf(upload.MissingExport, "export "+abi.ExportRun,
			"the module has no %s, and no %s either: build it with a taskrt SDK, or as a WASI command", abi.ExportRun, abi.ExportStart)
	}
	if err := checkExport(e, signature("i", "i")); err != nil {
		return err
	}
	return checkOptional(m, abi.ExportInitialize, abi.ExportDescribe)
}

// checkOptional checks the named functions, as far as the module has them: they take and return nothing.
func checkOptional(m *wasmbin.Module, names ...string) error {
	for _, name := range names {
		if e, ok := m.Export(name); ok {
			if err := checkExport(e, signature("", "")); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkExport(e wasmbin.Export, want wasmbin.FuncType) error {
	switch {
	case e.Kind != wasmbin.KindFunc:
		return upload.Errorf(upload.BadExport, "export "+e.Name, "this is a %s, not a function", e.Kind)
	case !e.Type.Equal(want):
		return upload.Errorf(upload.BadExport, "export "+e.Name, "has signature %s, should be %s", e.Type, want)
	}
	return nil
}
