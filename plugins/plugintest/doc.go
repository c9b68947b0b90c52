// Package plugintest tests plugins as they run in a cluster: a wasm module of any language runs in the sandbox of a worker,
// with the limits, timeouts and policy of its manifest. This needs no cluster, and nothing but `go test`.
//
//	func TestGreet(t *testing.T) {
//		m := plugintest.Load(t, plugintest.BuildGo(t, "."))
//		r := m.Run(t, "greet", &plugintest.Host{Params: []byte(`{"name":"Ada"}`)})
//		r.WantResult(t, `{"greeting":"Hello, Ada!"}`)
//		if r.PeakMemory > 8<<20 {
//			t.Errorf("greet takes %d bytes of memory", r.PeakMemory)
//		}
//	}
//
// A Host plays the cluster. It has the task's checkpoint, blobs and partitions, gives signals at a chosen heartbeat, and keeps what
// the guest did. Running it again is the task's next attempt. AtBeat, Host.KillAtFuel and Module.CheckResume end attempts at
// points that are the same in every run, and show whether the next attempt goes on as it should.
//
// For plugins in Go there is also package sdktest, whose Host has fields of the same names. It runs the behaviors natively,
// where a debugger works, but it knows nothing of limits, traps and fresh memory.
package plugintest
