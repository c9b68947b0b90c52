package check

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestOperation: an operation's partitions are a map, by pointer and by keyboard; each square leads to its task.
func TestOperation(t *testing.T) {
	if _, err := cluster.do("POST", "/v1/operations", `{"behavior":"word-count-op","id":"counted-op","target":"texts","partitions":300,"arg":{"texts":["a b a"],"parts":300}}`); err != nil {
		t.Fatal(err)
	}
	if _, err := cluster.do("GET", "/v1/operations/counted-op?wait=60s", ""); err != nil {
		t.Fatal(err)
	}
	looks(t, cluster.all[0].url, "operations", "counted-op", "operations")
	looks(t, cluster.all[0].url, "operations/counted-op", "The slowest:", "operation")
	b := open(t, cluster.all[0].url, "operations/counted-op", wide)
	b.sees("The slowest:")
	b.do(chromedp.Focus("canvas", chromedp.ByQuery), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowRight))
	b.until(`document.querySelector('.map-at').innerText.startsWith('2 success')`)
	b.do(chromedp.KeyEvent(kb.Enter))
	b.until(`location.hash.startsWith('#/tasks/')`)
	b.sees("Partition")
	b.do(chromedp.NavigateBack())
	b.press("Remove")
	b.press("Remove for good")
	b.until(`location.hash === '#/operations'`)
}

// TestUpkeep: namespaces, maintenance and backups, in all looks; a namespace is made, limited and closed, and a run of maintenance asked for.
func TestUpkeep(t *testing.T) {
	for _, p := range [][2]string{{"namespaces", "_system"}, {"maintenance", "Next run"}, {"backups", "No schedule"}} {
		looks(t, cluster.all[0].url, p[0], p[1], p[0])
	}
	b := open(t, cluster.all[0].url, "namespaces", wide)
	b.press("Create a namespace")
	b.fill("#name", "team")
	b.fill("#max_tasks", "1000")
	b.accessible()
	b.press("Create")
	b.until(`!document.querySelector('dialog') && [...document.querySelectorAll('tbody tr')].some((r) => /team[^]*1.000/.test(r.innerText))`)
	row := `[...document.querySelectorAll('tbody tr')].find((r) => r.innerText.includes('team'))`
	b.do(chromedp.Evaluate(row+`.querySelectorAll('button')[1].click()`, nil))
	b.until(`document.querySelector('dialog')`)
	b.do(chromedp.Evaluate(`document.querySelector('dialog .primary').click()`, nil))
	b.until(`!document.querySelector('dialog') && ` + row + `.querySelector('.s-inactive')`)
	b.do(chromedp.Evaluate(`[...`+row+`.querySelectorAll('button')].find((e) => e.innerText === 'Purge').click()`, nil))
	b.until(`document.querySelector('dialog')`)
	b.do(chromedp.Evaluate(`document.querySelector('dialog .danger').click()`, nil))
	b.sees("Type the name of the namespace.")
	b.press("Do nothing")

	b = open(t, cluster.all[0].url, "maintenance", wide)
	b.press("Run now")
	b.until(`document.querySelector('dialog')`)
	b.accessible()
	b.press("Count")
	b.until(`document.querySelector('tbody .s-success')`)
	b.accessible()
}

// TestAccess: a token is made, shown once, rotated and revoked; the audit tells of it, and finds by token.
func TestAccess(t *testing.T) {
	s := startSecure(t)
	b := open(t, s.url, "tokens", wide)
	b.allow("401")
	b.fill("#token", s.root)
	b.press("Sign in")
	b.press("Create a token")
	b.fill("#name", "ann")
	b.accessible()
	b.press("Create")
	b.sees("The token of ann")
	made := value[string](b, `document.querySelector('dialog pre').innerText`)
	if _, err := ask(insecure, s.url, made, "GET", "/v1/tasks", "", nil); err != nil {
		t.Error(err)
	}
	b.press("I have it")
	b.until(`!document.body.innerText.includes(` + quoted(made) + `)`)
	b.accessible()
	b.shot("tokens")
	b.press("Rotate")
	b.until(`document.querySelector('dialog')`)
	b.press("Rotate")
	b.sees("The token of ann")
	b.press("I have it")
	b.press("Revoke")
	b.until(`document.querySelector('dialog')`)
	b.press("Revoke")
	b.until(`!document.querySelector('dialog') && !document.querySelector('tbody')?.innerText.includes('ann')`)

	b.do(chromedp.Evaluate(`location.hash = '#/audit'`, nil))
	b.sees("DELETE /v1/tokens")
	b.accessible()
	b.shot("audit")
	b.fill("input[name=token]", "nobody\r")
	b.sees("No record is like that")
	b.accessible()
}
