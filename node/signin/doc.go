// Package signin lets people and workloads begin sessions by OpenID Connect: it verifies what an issuer vouches for, finds the rule that fits,
// and asks the cluster for a token (SPEC A7).
package signin
