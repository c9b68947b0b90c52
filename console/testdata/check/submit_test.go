package check

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// TestSubmit: params are filled in by a form that is made of their schema, or as JSON; what the cluster refuses is said where it was written.
func TestSubmit(t *testing.T) {
	looks(t, cluster.all[0].url, "submit?behavior=greet", "Whom to greet", "submit")
	b := open(t, cluster.all[0].url, "submit?behavior=greet", wide)
	b.allow("422")
	b.fill("#param-name", "Ann")
	b.fill("#param-times", "3")
	b.do(chromedp.SetValue("#param-mood", `"merry"`, chromedp.ByQuery), chromedp.Evaluate(`document.querySelector('#param-mood').dispatchEvent(new Event('change', {bubbles: true}))`, nil))
	b.press("ID, time, labels, priority")
	b.fill("#id", "greeted")
	b.fill("#labels", "team=search")
	b.do(chromedp.Evaluate(`document.querySelector(".submit .primary").click()`, nil))
	b.until(`location.hash === '#/tasks/greeted'`)
	for _, text := range []string{`"name": "Ann"`, `"times": 3`, `"mood": "merry"`, "team=search"} {
		b.sees(text)
	}

	b.do(chromedp.Evaluate(`location.hash = '#/submit?behavior=greet'`, nil))
	b.until(`document.querySelector('#as-json')`)
	b.do(chromedp.Evaluate(`document.querySelector('#as-json').click()`, nil))
	b.until(`document.querySelector('#params')`)
	b.do(chromedp.Evaluate(`(() => { const f = document.querySelector('#params'); f.value = '{"times": 9}'; f.dispatchEvent(new Event('input', {bubbles: true})); })()`, nil))
	b.do(chromedp.Evaluate(`document.querySelector(".submit .primary").click()`, nil))
	b.sees("params_schema")
	b.accessible()
}
