package runtime

import "github.com/taskrt/taskrt/runtime/manifest"

// Limits of the ABI's small channels, in bytes.
const (
	MaxErrorDetail = 16 << 10
	MaxNote        = 4 << 10
	MaxNextTime    = 20
	MaxRandom      = 64 << 10
)

func (a Attempt) withDefaults() Attempt {
	def := func(v *int64, d int64) {
		if *v <= 0 {
			*v = d
		}
	}
	def(&a.MemoryBytes, manifest.DefaultMemoryBytes)
	def(&a.ResultBytes, manifest.DefaultResultBytes)
	def(&a.CheckpointBytes, manifest.DefaultCheckpointBytes)
	def(&a.LogBytes, manifest.DefaultLogBytes)
	if a.RunTimeout <= 0 {
		a.RunTimeout = manifest.DefaultRunTimeout
	}
	if a.Info == nil && a.MakeInfo == nil {
		a.Info = []byte("{}")
	}
	return a
}
