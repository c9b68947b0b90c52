package check

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestNoLeader: where a majority is away, the page says so in one word, which stays, and keeps what it has shown. It goes on by itself when the
// majority is back.
func TestNoLeader(t *testing.T) {
	b := open(t, cluster.all[0].url, "tasks", wide)
	b.allow("503", "504")
	b.sees("counted")
	for _, away := range cluster.all[1:] {
		away.kill()
	}
	defer func() {
		for _, away := range cluster.all[1:] {
			if err := away.ready(); err != nil {
				t.Error(err)
			}
		}
	}()
	b.do(chromedp.Evaluate(`location.hash = '#/operations'`, nil))
	b.sees("no leader")
	b.sees("The cluster has no leader")
	b.accessible()
	b.do(chromedp.Evaluate(`location.hash = '#/cluster'`, nil))
	b.until(`document.querySelectorAll('tbody .s-unreachable').length === 2`) // what this node knows by itself
	b.sees("no leader")
	b.accessible()
	b.shot("no-leader")
	for _, away := range cluster.all[1:] {
		if err := away.start(); err != nil {
			t.Fatal(err)
		}
	}
	b.do(chromedp.Evaluate(`location.hash = '#/tasks'`, nil))
	b.sees("counted")
	b.sees("connected")
	b.until(`document.querySelector('.l-live')`)
}

// TestClock: where the clock of a browser is wrong by an hour, ages are right, and the page says by how much it is wrong.
func TestClock(t *testing.T) {
	if _, err := cluster.do("POST", "/v1/tasks", `{"behavior":"ext","id":"aged","delay":"2h","labels":{"test":"clock"}}`); err != nil {
		t.Fatal(err)
	}
	for _, hours := range []int{1, -1} {
		t.Run(fmt.Sprintf("%+d h", hours), func(t *testing.T) {
			b := open(t, cluster.all[0].url, "tasks?label=test%3Dclock", wide, skewed(hours*3600e3))
			b.sees("aged")
			sign := "−" // the server's is behind
			if hours < 0 {
				sign = `\+`
			}
			const age = `(now|\d+(\.\d)? s ago|\d+ min( \d+ s)? ago)` // an hour off would say hours
			b.until(`[...document.querySelectorAll('tbody tr')].some((r) => /^` + age + `$/.test(r.querySelector('time').innerText) && /due in 1 h \d\d? min/.test(r.innerText))`)
			b.until(`/clock ` + sign + `(1 h|59 min)/.test(document.querySelector('.connection').innerText)`)
			b.accessible()
			b.do(chromedp.Evaluate(`location.hash = '#/tasks/aged'`, nil))
			b.until(`/^` + age + `$/.test(document.querySelector('.head time')?.innerText)`)
		})
	}
}

// skewed lets a page's clock differ by so many ms.
func skewed(ms int) string {
	return fmt.Sprintf(`{ const real = Date, by = %d; Date = class extends real { constructor(...a) { a.length ? super(...a) : super(real.now() + by); } static now() { return real.now() + by; } }; }`, ms)
}
