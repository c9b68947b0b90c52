package socket

import (
	"net/http"
	"strings"

	"github.com/taskrt/taskrt/api/stream"
)

// Introduce returns a handshake as a program with the token would have sent it. The token is the one that the handshake offers as a subprotocol
// (SPEC A6). A page of any origin may offer one. So nothing counts that the browser adds by itself and that would be somebody else's authority: not
// the cookie, nor what a cookie was taken for already. A request that offers no token stays as it is. So does a request that offers two tokens,
// because nobody knows which one it means.
//
// It is for clusters that have tokens. In an open cluster any text would let any page in.
func Introduce(r *http.Request) *http.Request {
	var token string
	kept := make([]string, 0, 4)
	for _, name := range subprotocols(r.Header) {
		text, offers := strings.CutPrefix(name, stream.BearerSubprotocol)
		switch {
		case !offers:
			kept = append(kept, name)
		case token != "":
			return r
		default:
			token = text
		}
	}
	if token == "" {
		return r
	}
	introduced := new(http.Request)
	*introduced = *r
	introduced.Header = r.Header.Clone()
	for _, name := range []string{"Cookie", "Origin", "Sec-Fetch-Site"} {
		introduced.Header.Del(name)
	}
	introduced.Header.Set("Authorization", "Bearer "+token)
	introduced.Header[subprotocolHeader] = []string{strings.Join(kept, ", ")}
	return introduced
}

// subprotocolHeader is the canonical name of the header that offers subprotocols.
const subprotocolHeader = "Sec-Websocket-Protocol"

// subprotocols returns what a handshake offers, in its order.
func subprotocols(h http.Header) (names []string) {
	for _, list := range h[subprotocolHeader] {
		for name := range strings.SplitSeq(list, ",") {
			names = append(names, strings.TrimSpace(name))
		}
	}
	return names
}
