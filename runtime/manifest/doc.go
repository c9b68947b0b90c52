// Package manifest reads what a module says of its behaviors (SPEC B1), and the definitions of behaviors without a module
// (SPEC B7). It runs no guest and compiles no wasm.
//
//	Parse, ParseExternal    check JSON as it was given; the error, an *upload.Error, names the field
//	Canonical               the one JSON of equal manifests, by which a module's version is named (SPEC B2)
//	Settings                a behavior with every default filled in
//	Schemas                 checks params and results against a behavior's JSON Schemas, at a bounded cost
//
// DESIGN.md says why it is so.
package manifest
