package stream

import (
	"bytes"

	"github.com/fxamacker/cbor/v2"
)

// intoBuffer writes into a buffer of the caller's.
var intoBuffer = func() cbor.UserBufferEncMode {
	mode, err := cbor.EncOptions{}.UserBufferEncMode()
	if err != nil {
		panic(err) // cannot happen: the options are constant
	}
	return mode
}()

// AppendRequests writes a message of a client behind what is in b.
func (CBOR) AppendRequests(b *bytes.Buffer, requests []Request) error {
	return intoBuffer.MarshalToBuffer(Requests{requests}, b)
}

// Answers reads a message of a server. Nothing of the message is kept. Names that it does not know are of a later server, and are passed
// over.
func (CBOR) Answers(message []byte) ([]Answer, error) {
	var m Answers
	err := cbor.Unmarshal(message, &m)
	return m.Answers, err
}
