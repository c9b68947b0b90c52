package task

// RetryTask makes a final task, or one that waits for its retry, due again by hand (SPEC T1, T8, B2).
type RetryTask struct {
	Key            Key    `cbor:"1,keyasint"`
	NotBefore      Time   `cbor:"2,keyasint,omitempty"` // 0: now
	Delay          Millis `cbor:"3,keyasint,omitempty"` // added to now when NotBefore is 0
	Deadline       Time   `cbor:"4,keyasint,omitempty"` // 0: none
	Version        string `cbor:"5,keyasint,omitempty"` // re-pin: VersionActive, or a kept version; "": keep the pin
	KeepCheckpoint bool   `cbor:"6,keyasint,omitempty"` // with another version: keep the checkpoint all the same
}

// VersionActive is RetryTask.Version for "whatever is active when it runs".
const VersionActive = "active"

func (c RetryTask) apply(m *Machine) Result { return invalid("retry", "not yet") }
