package main

// goSDKMutants sabotage the Go SDK.
var goSDKMutants = []mutant{
	{Name: "go-sdk-requires-unsaid", Dir: "plugins/sdk/go", In: "manifest", Old: `w.strings("requires", requires)`, New: `w.strings("requires", nil)`,
		Pkg: "./plugins/sdk/go/secrets", Run: "TestManifestRequires$", Why: "a module that imports a capability would be refused at upload (B6)"},
	{Name: "go-sdk-secret-cut", Dir: "plugins/sdk/go/secrets", In: "Get", Old: "if int(n) > len(to) {", New: "if n > 65536 {",
		Pkg: "./plugins/sdk/go/secrets", Run: "TestGet$", Why: "secrets larger than the first buffer could not be read"},
	{Name: "go-sdk-responses-mixed", Dir: "plugins/sdk/go/sdkhttp", In: "Do", Old: "asking.Lock(); defer asking.Unlock()", New: "",
		Pkg: "./plugins/sdk/go/sdkhttp", Run: "TestGoroutines$", Why: "a goroutine would read the response to another one's request"},
	{Name: "go-sdk-child-params-unchecked", Dir: "plugins/sdk/go/tasks", In: "Task.params", Old: "tinyjson.Parse(text)", New: "tinyjson.Parse([]byte{'1'})",
		Pkg: "./plugins/sdk/go/tasks", Run: "TestErrors$", Why: "params that are no JSON could become other members of the child"},
}
