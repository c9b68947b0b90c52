package check

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestBulk: all tasks that a query selects are counted, asked about, and acted on by a job, which its page shows (SPEC Q3, U1).
func TestBulk(t *testing.T) {
	for i := range 3 {
		if _, err := cluster.do("POST", "/v1/tasks", fmt.Sprintf(`{"behavior":"ext","id":"bulk-%d","delay":"9h","labels":{"test":"bulk"}}`, i)); err != nil {
			t.Fatal(err)
		}
	}
	b := open(t, cluster.all[1].url, "tasks?label=test%3Dbulk", wide)
	b.sees("bulk-2")
	b.until(`[...document.querySelectorAll('label')].some((e) => e.innerText.startsWith('All that fit'))`)
	b.do(chromedp.Evaluate(`{
		const s = [...document.querySelectorAll('label')].find((e) => e.innerText.startsWith('All that fit')).querySelector('select');
		s.value = 'cancel';
		s.dispatchEvent(new Event('change', {bubbles: true}));
	}`, nil))
	b.sees("3 tasks are meant")
	b.press("As a command")
	b.sees("taskrt cancel --label test=bulk --yes")
	b.accessible()
	b.shot("bulk")
	b.do(chromedp.Evaluate(`document.querySelector('dialog .danger').click()`, nil))
	b.sees("The job has begun.")
	b.until(`location.hash === '#/jobs' && document.body.innerText.includes('3 / 3')`)
	b.sees("label test=bulk")
	b.accessible()
	b.do(chromedp.Evaluate(`location.hash = '#/tasks?label=test%3Dbulk&error=CANCELLED'`, nil))
	b.until(`document.querySelectorAll('tbody tr').length === 3`)
	looks(t, cluster.all[0].url, "jobs", "test=bulk", "jobs")
}
