package keys

import (
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/trust"
)

// TokenVariable is the variable that holds a token itself. It has no flag: everybody on the machine can read command lines (SPEC A9).
const TokenVariable = "TASKRT_TOKEN"

// tokenFile is the flag's name, and tokenFileVariable its variable.
const (
	tokenFile         = "token-file"
	tokenFileVariable = "TASKRT_TOKEN_FILE"
)

// TokenFlag says by which token a client asks.
func TokenFlag(flag Flag) cli.Flag {
	return flag(tokenFile, "", "FILE with the token by which to ask; read again when it changes, a pipe once. "+TokenVariable+" may hold the token itself")
}

// Token reads TokenFlag and TokenVariable: what it returns is asked for each request. Nothing was said: nil.
func Token(c *cli.Context) (func() (string, error), error) {
	name, text := c.String(tokenFile), strings.TrimSpace(os.Getenv(TokenVariable))
	switch {
	case name != "" && text != "" && os.Getenv(tokenFileVariable) == name:
		return nil, usage("both " + TokenVariable + " and " + tokenFileVariable + " are set: unset one of them")
	case name != "": // a flag wins over a variable
		f, err := trust.OpenTokenFile(name)
		if err != nil {
			return nil, fmt.Errorf("--%s: %w", tokenFile, err)
		}
		return f.Text, nil
	case text != "":
		if err := trust.CheckToken(text); err != nil {
			return nil, &UsageError{fmt.Errorf("%s: %w", TokenVariable, err)}
		}
		return func() (string, error) { return text, nil }, nil
	}
	return nil, nil //nolint:nilnil // no token is an answer
}

// WorkerTokens returns a function that returns the tokens by which a worker may ask where the nodes are, as the files are then: the token of
// TokenFlag, and those that follow from the secrets of its keys. If there are none, WorkerTokens returns nil.
func WorkerTokens(c *cli.Context, k *trust.Keys) (func() ([]string, error), error) {
	given, err := Token(c)
	if err != nil || given == nil && (k == nil || len(k.WorkerTokens()) == 0) {
		return nil, err
	}
	return func() (all []string, err error) {
		if given != nil {
			text, err := given()
			if err != nil {
				return nil, err
			}
			all = append(all, text)
		}
		if k != nil {
			for _, t := range k.WorkerTokens() {
				all = append(all, t.Text())
			}
		}
		return all, nil
	}, nil
}

// HideToken takes TokenVariable out of the environment. What it held has been read by then, or is not needed. A process does so that starts
// others to run the code of strangers, because those get its environment (SPEC A9, A10).
func HideToken() error { return os.Unsetenv(TokenVariable) }

// Root returns the root token that follows from a file of cluster secrets: the token of the first secret (SPEC A4).
func Root(file string) (string, error) {
	all, err := trust.ReadSecrets(file)
	if err != nil {
		return "", err
	}
	return all[0].RootToken().Text(), nil
}
