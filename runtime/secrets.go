package runtime

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/tetratelabs/wazero/api"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime/grants"
	"github.com/taskrt/taskrt/runtime/manifest"
	"github.com/taskrt/taskrt/runtime/redact"
	"github.com/taskrt/taskrt/runtime/upload"
	"github.com/taskrt/taskrt/runtime/wasmbin"
)

// capabilityModules are import modules that a guest gets only if its manifest asks for the capability and the
// operator grants it (SPEC B6).
var capabilityModules = []struct {
	module, capability string
	functions          []hostFunction
}{
	{abi.ModuleSecrets, abi.CapabilitySecrets, []hostFunction{
		{abi.FuncSecretsGet, "iiii", "i", []string{"name", "n", "ptr", "cap"}, hostSecret},
	}},
	{abi.ModuleHTTP, abi.CapabilityHTTP, []hostFunction{
		{abi.FuncHTTPRequest, "iiii", "i", []string{"head", "n", "body", "m"}, hostHTTPRequest},
		{abi.FuncHTTPLen, "i", "i", []string{"part"}, lenOf((*guest).part)},
		{abi.FuncHTTPRead, "iiii", "i", []string{"part", "ptr", "off", "n"}, readOf((*guest).part)},
	}},
	{abi.ModuleTasks, abi.CapabilityTasks, []hostFunction{
		{abi.FuncTasksSubmit, "ii", "i", []string{"ptr", "n"}, hostTasksSubmit},
	}},
}

// checkRequired refuses a module that imports what its manifest does not ask for.
func checkRequired(parsed *wasmbin.Module, m *manifest.Manifest) error {
	for _, c := range capabilityModules {
		if parsed.ImportsFrom(c.module) && !slices.Contains(m.Requires, c.capability) {
			return upload.Errorf(upload.BadManifest, "requires", "the module imports %s, so the manifest must require %q", c.module, c.capability)
		}
	}
	return nil
}

// CheckGranted refuses a manifest that requires a capability which the operator of this process does not grant to
// each of its behaviors.
func (e *Engine) CheckGranted(namespace string, m *manifest.Manifest) error {
	for i, required := range m.Requires {
		for _, b := range m.Behaviors {
			if !e.grants(required, namespace, b.Name) {
				return upload.Errorf(upload.CapabilityNotGranted, fmt.Sprintf("requires[%d]", i),
					"this node grants behavior %s in namespace %s no %s: its operator does so in the file of --capabilities", b.Name, namespace, required)
			}
		}
	}
	return nil
}

// grants tells whether a behavior gets a capability at all. A capability that nobody has to grant, everybody has.
func (e *Engine) grants(capability, namespace, behavior string) bool {
	switch capability {
	case abi.CapabilitySecrets:
		return e.cfg.Grants.Secrets(namespace, behavior)
	case abi.CapabilityHTTP:
		return len(e.cfg.Grants.HTTP(namespace, behavior)) > 0
	case abi.CapabilityTasks:
		return e.cfg.Grants.AnyTasks(namespace, behavior)
	}
	return true
}

// taskInfo says whose attempt it is; false: nobody knows, so nothing is granted.
func (g *guest) taskInfo() (info abi.TaskInfo, known bool) {
	known = json.Unmarshal(g.attempt.InfoJSON(), &info) == nil
	return info, known
}

// outsideOf returns what does for the guest what a capability allows to it: the attempt's Outside, or this process by Config.Grants.
func outsideOf(g *guest) (o Outside) {
	if o = g.attempt.Outside; o == nil {
		info, known := g.taskInfo()
		o = grants.Attempt{Grants: g.grants, Client: g.fetch, Namespace: info.Namespace, Behavior: info.Behavior, Known: known}
	}
	if g.attempt.Watch != nil {
		o = g.attempt.Watch(o)
	}
	return o
}

// secret is a secret that the attempt has read. It stays the same until the attempt ends.
type secret struct {
	name  string
	value []byte
}

func hostSecret(g *guest, mem api.Memory, stack []uint64) {
	name := g.given(mem, abi.FuncSecretsGet, uint32(stack[0]), uint32(stack[1]))
	to := view(mem, abi.FuncSecretsGet, uint32(stack[2]), uint32(stack[3]))
	if g.phase != phaseRun {
		stack[0] = status(abi.EDENIED)
		return
	}
	if len(name) > grants.MaxName {
		stack[0] = status(abi.EINVAL)
		return
	}
	value, errno := g.secret(string(name))
	if errno == 0 {
		copy(to, value)
		errno = abi.Errno(len(value))
	}
	stack[0] = status(errno)
}

func (g *guest) secret(name string) ([]byte, abi.Errno) {
	for _, s := range g.secrets {
		if s.name == name {
			return s.value, 0
		}
	}
	read := g.attempt.Secrets
	if read == nil {
		read = func(name string) ([]byte, error) { return outsideOf(g).Secret(g.ctx, name) }
	}
	var value []byte
	var err error
	g.outside(func() { value, err = read(name) })
	switch {
	case errors.Is(err, grants.ErrInvalid):
		return nil, abi.EINVAL
	case errors.Is(err, grants.ErrDenied):
		return nil, abi.EDENIED
	case errors.Is(err, grants.ErrNotFound):
		return nil, abi.ENOENT
	case err != nil:
		return nil, abi.EAGAIN
	}
	g.secrets = append(g.secrets, secret{name, value})
	g.log.keep(secret{name, bytes.TrimSpace(value)})
	return value, 0
}

// minHidden is the length from which a secret is kept out of logs: a shorter secret stands in many lines that do not
// tell it.
const minHidden = 8

// keep adds a secret to those that are hidden. Longer secrets come first, because a shorter one may be a part of
// them.
func (l *attemptLog) keep(s secret) {
	i := slices.IndexFunc(l.hidden, func(h secret) bool { return len(h.value) < len(s.value) })
	if i < 0 {
		i = len(l.hidden)
	}
	l.hidden = slices.Insert(l.hidden, i, s)
}

// hideJSON is hide for the strings of a JSON text, in which a secret may stand escaped.
func (l *attemptLog) hideJSON(text []byte) []byte {
	if len(l.hidden) == 0 {
		return text
	}
	return redact.JSON(text, l.hide)
}

// begun returns how many bytes at the end of text may be the beginning of a secret whose rest comes later.
func (l *attemptLog) begun(text []byte) int {
	most := 0
	for _, s := range l.hidden {
		for n := min(len(s.value)-1, len(text)); n > most && len(s.value) >= minHidden; n-- {
			if bytes.HasPrefix(s.value, text[len(text)-n:]) {
				most = n
			}
		}
	}
	return most
}

// hide returns text without the secrets that the attempt has read. It returns text itself if there are no secrets in
// it.
func (l *attemptLog) hide(text []byte) []byte {
	for _, s := range l.hidden {
		if len(s.value) >= minHidden && bytes.Contains(text, s.value) {
			text = bytes.ReplaceAll(text, s.value, []byte("[secret "+s.name+"]"))
		}
	}
	return text
}
