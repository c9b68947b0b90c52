package main

// assemblyScriptMutants sabotage the AssemblyScript SDK as a new plugin gets it: the overlay reaches what the binary embeds. They need
// its toolchain.
var assemblyScriptMutants = []mutant{
	{Name: "assemblyscript-cancel-not-seen", File: "plugins/sdk/assemblyscript/assembly/context.ts", Old: "return (this.bits & 3) != 0;", New: "return (this.bits & 2) != 0;",
		Pkg: "./cmd/taskrt", Run: "TestNewAssemblyScript$", Real: true, Why: "guests would be killed that could have cleaned up"},
	{Name: "assemblyscript-abort-says-nothing", File: "plugins/sdk/assemblyscript/assembly/globals.ts", Old: "  writeLine(2, putByte(to, 0x0a) - line);\n", New: "  putByte(to, 0x0a);\n",
		Pkg: "./plugins/examples", Run: "TestAssemblyScriptConformance$", Real: true, Why: "nobody would learn why a guest trapped"},
	{Name: "assemblyscript-json-half-rounded-up", File: "plugins/sdk/assemblyscript/assembly/json/number.ts", Old: "half ? (n & 1) == 1 :", New: "half ? true :",
		Pkg: "./plugins/sdk", Run: "TestAssemblyScriptGuest$", Real: true, Why: "numbers would be read as the double next to the nearest"},
	{Name: "assemblyscript-json-depth-off-by-one", File: "plugins/sdk/assemblyscript/assembly/json/parse.ts", Old: "if (depth >= JsonParser.MAX_DEPTH)", New: "if (depth > JsonParser.MAX_DEPTH)",
		Pkg: "./plugins/sdk", Run: "TestAssemblyScriptGuest$", Real: true, Why: "the depth that the documentation names is the limit"},
}
