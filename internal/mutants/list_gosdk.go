package main

// goSDKMutants sabotage the Go SDK.
var goSDKMutants = []mutant{
	{Name: "go-sdk-requires-unsaid", File: "plugins/sdk/go/manifest.go", Old: `w.strings("requires", requires)`, New: `w.strings("requires", nil)`,
		Pkg: "./plugins/sdk/go/secrets", Run: "TestManifestRequires$", Why: "a module that imports a capability would be refused at upload (B6)"},
	{Name: "go-sdk-secret-cut", File: "plugins/sdk/go/secrets/secrets.go", Old: "if int(n) > len(to) {", New: "if n > 65536 {",
		Pkg: "./plugins/sdk/go/secrets", Run: "TestGet$", Why: "secrets larger than the first buffer could not be read"},
	{Name: "go-sdk-responses-mixed", File: "plugins/sdk/go/sdkhttp/sdkhttp.go", Old: "asking.Lock()\n\tdefer asking.Unlock()\n", New: "\n",
		Pkg: "./plugins/sdk/go/sdkhttp", Run: "TestGoroutines$", Why: "a goroutine would read the response to another one's request"},
	{Name: "go-sdk-child-params-unchecked", File: "plugins/sdk/go/tasks/tasks.go", Old: "tinyjson.Parse(text)", New: "tinyjson.Parse([]byte{'1'})",
		Pkg: "./plugins/sdk/go/tasks", Run: "TestErrors$", Why: "params that are no JSON could become other members of the child"},
}
