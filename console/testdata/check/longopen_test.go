package check

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestDay: a tab that is open for a day hears of 50,000 changes, and holds no more than after the first thousand.
func TestDay(t *testing.T) {
	// feed(n) sends n more events down each stream that is open, and resolves when the page has read them.
	const stream = `(() => {
		const streams = new Set(); let sent = 0;
		window.feed = async (n) => {
			while (!streams.size) await new Promise((go) => setTimeout(go, 50));
			for (const one of streams) for (let left = n; left > 0; left -= 500) await one(Math.min(left, 500));
			return sent;
		};
		return (url, signal) => {
			if (!url.pathname.endsWith('/v1/events')) return undefined;
			const pipe = new TransformStream({}, { highWaterMark: 1 }), out = pipe.writable.getWriter();
			const put = (n) => {
				let text = '';
				for (let i = 0; i < n; i++) text += 'event: task\nid: ' + ++sent + '\ndata: ' + JSON.stringify({ task: { id: 'day', behavior: 'ext', status: 'RUNNING', final: false, attempt: sent, labels: {}, progress: { note: 'x'.repeat(200) } } }) + '\n\n';
				return out.write(new TextEncoder().encode(text)).catch(() => streams.delete(put));
			};
			streams.add(put);
			signal.addEventListener('abort', () => { streams.delete(put); out.abort().catch(() => {}); });
			return new Response(pipe.readable, { headers: { 'Content-Type': 'text/event-stream' } });
		};
	})()`
	if _, err := cluster.do("POST", "/v1/tasks", `{"behavior":"ext","id":"day","delay":"10h"}`); err != nil {
		t.Fatal(err)
	}
	for place, drawn := range map[string]string{
		"tasks/day": `document.querySelectorAll('.seen li').length === 60 && document.querySelector('.seen li:last-child').innerText.includes('attempt ' + window.last)`,
		"tasks":     `document.querySelector('.l-busy')`,
	} {
		t.Run(place, func(t *testing.T) {
			b := open(t, cluster.all[0].url, place, wide, answers(stream))
			b.sees("day")
			feed := func(n int) {
				t.Helper()
				b.do(chromedp.Evaluate(`window.last = 0; feed(`+strconv.Itoa(n)+`).then((n) => { window.last = n; })`, nil))
				b.until(`window.last`)
				b.until(drawn)
			}
			feed(1000)
			before := b.heap()
			if place == "tasks" { // it hears no more, and asks in place of that
				return
			}
			feed(49000)
			if more := b.heap() - before; more > 4<<20 {
				t.Errorf("after 50,000 events the page holds %.0f bytes more", more)
			}
		})
	}
}

// TestBelowAPath: behind a proxy that serves a cluster with tokens below a path, people sign in, see what happens, submit and sign out.
func TestBelowAPath(t *testing.T) {
	s := startSecure(t)
	node, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	other := 0
	mux := http.NewServeMux()
	mux.Handle("/ops/taskrt/", http.StripPrefix("/ops/taskrt", &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(node); r.Out.Host = r.In.Host },
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, //nolint:gosec // a node of this test
	}))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/favicon.ico" {
			other++
		}
		http.NotFound(w, r)
	})
	proxy := httptest.NewTLSServer(mux)
	defer proxy.Close()
	s.do(t, "PUT", "/v1/behaviors/ext", `{"kind":"external","lease":"1h"}`)

	b := open(t, proxy.URL+"/ops/taskrt", "tasks", wide)
	b.allow("401")
	b.until(`document.querySelector('dialog input')`)
	b.fill("dialog input", s.root+"\r")
	b.sees("No tasks yet")
	b.until(`document.querySelector('.l-live')`)
	s.do(t, "POST", "/v1/tasks", `{"behavior":"ext","id":"through"}`)
	b.sees("through") // the proxy holds no event back
	b.do(chromedp.Evaluate(`location.hash = '#/submit?behavior=ext'`, nil))
	b.fill("#params", `{"n":1}`)
	b.do(chromedp.Evaluate(`document.querySelector('main .primary').click()`, nil))
	b.until(`location.hash.startsWith('#/tasks/')`)
	b.sees(`"n": 1`)
	b.press("As a command")
	b.sees("--server " + proxy.URL + "/ops/taskrt")
	b.do(chromedp.Reload())
	b.sees(`"n": 1`) // the cookie is for this path
	b.press("Sign out")
	b.until(`document.querySelector('dialog input')`)
	if other > 0 {
		t.Errorf("%d requests went past the path", other)
	}
}
