package sdktest

import "github.com/taskrt/taskrt/abi"

// span answers span.begin and span.end by what a host checks, too.
func (a *attempt) span(op abi.Op, payload []byte) int32 {
	hide := func(text []byte) []byte { return text } // the test knows the secrets
	if errno := a.began.Call(op, payload, hide, &a.spans); errno != 0 {
		return int32(errno)
	}
	return a.respond([]byte{})
}
