package main

// rustMutants sabotage the Rust SDK as a new plugin gets it: the overlay reaches what the binary embeds. They need its toolchain.
var rustMutants = []mutant{
	{Name: "rust-cancel-not-seen", File: "plugins/sdk/rust/src/context.rs", Old: "self.has(Signals::CANCEL | Signals::LEASE_LOST)", New: "self.has(Signals::LEASE_LOST)",
		Pkg: "./cmd/taskrt", Run: "TestNewRust$", Real: true, Why: "guests would be killed that could have cleaned up"},
	{Name: "rust-input-read-from-the-second-byte", File: "plugins/sdk/rust/src/host.rs", Old: "let got = host.read(channel, at as u32, &mut all[at..]);", New: "let got = host.read(channel, at as u32 + 1, &mut all[at..]) + 1;",
		Pkg: "./cmd/taskrt", Run: "TestNewRust$", Real: true, Why: "params and checkpoints would lose their first byte"},
	{Name: "rust-bad-params-retried", File: "plugins/sdk/rust/src/error.rs", Old: "Error::permanent(\"bad_params\", message.to_string())", New: "Error::retryable(\"bad_params\", message.to_string())",
		Pkg: "./cmd/taskrt", Run: "TestNewRust$", Real: true, Why: "tasks that cannot succeed would be tried again"},
	{Name: "rust-toolchain-without-target", Dir: "internal/rusttool", In: "hasTarget", Old: "err == nil && len(std) > 0", New: "err == nil && len(std) >= 0",
		Pkg: "./internal/rusttool", Run: "TestFind$", Why: "tests would fail where rustup's toolchain comes first"},
	{Name: "rust-sdk-not-copied", Dir: "cmd/taskrt/internal/scaffold", In: "languages", Old: "{name: \"rust\", sdk: sdk.Rust()},", New: `{name: "rust", sdk: os.DirFS(os.TempDir() + "/none")}, {name: "-", sdk: sdk.Rust()},`,
		Pkg: "./cmd/taskrt", Run: "TestNewRust$", Real: true, Why: "a new plugin would not build"},
}
