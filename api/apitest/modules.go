package apitest

import (
	"crypto/sha256"
	"encoding/hex"
)

// These are the guests of the suite, assembled by hand so that they compile quickly. Each exports a memory and taskrt_run.
var (
	codeOK   = []byte{0x41, 0x00}                                     // i32.const 0: succeed without a result
	codeFail = []byte{0x41, 0x02}                                     // i32.const 2: fail for good
	codeSpin = []byte{0x03, 0x40, 0x0c, 0x00, 0x0b, 0x00, 0x00}       // loop br 0 end unreachable
	codeOdd  = []byte{0x20, 0x00, 0x41, 0x01, 0x71, 0x41, 0x01, 0x74} // (local.get 0 & 1) << 1: behaviors with an odd index fail for good
)

// ModuleOK returns a module whose behavior succeeds with the result null. Modules with different salts have different digests.
func ModuleOK(salt string) []byte { return module(codeOK, salt) }

// ModuleFail returns a module whose behavior fails for good. See ModuleOK for salt.
func ModuleFail(salt string) []byte { return module(codeFail, salt) }

// ModuleSpin returns a module whose behavior computes until it is killed. See ModuleOK for salt.
func ModuleSpin(salt string) []byte { return module(codeSpin, salt) }

// ModuleOdd returns a module whose behaviors succeed with the result null, but fail for good if their index is odd. See
// ModuleOK for salt.
func ModuleOdd(salt string) []byte { return module(codeOdd, salt) }

func module(code []byte, salt string) []byte {
	body := append(append([]byte{0x00}, code...), 0x0b) // no locals, end
	b := []byte("\x00asm\x01\x00\x00\x00")
	b = append(b, 0x01, 0x06, 0x01, 0x60, 0x01, 0x7f, 0x01, 0x7f) // type: (i32) -> i32
	b = append(b, 0x03, 0x02, 0x01, 0x00)                         // one function of this type
	b = append(b, 0x05, 0x03, 0x01, 0x00, 0x01)                   // one memory of one page
	b = append(b, 0x07, 0x17, 0x02)                               // two exports
	b = append(b, "\x06memory\x02\x00"...)
	b = append(b, "\x0ataskrt_run\x00\x00"...)
	b = append(b, 0x0a, byte(len(body)+2), 0x01, byte(len(body)))
	b = append(b, body...)
	return append(b, custom("apitest", salt)...)
}

// custom returns a custom section that nobody reads.
func custom(name, text string) []byte {
	section := append(append([]byte{byte(len(name))}, name...), text...)
	return append([]byte{0x00, byte(len(section))}, section...)
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
