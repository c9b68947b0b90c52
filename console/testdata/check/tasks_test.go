package check

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestTasks: the list of tasks, in all looks (SPEC U1). Text of others is text: its directions are isolated, and what cannot be seen is shown.
func TestTasks(t *testing.T) {
	looks(t, cluster.all[0].url, "tasks", "counted", "tasks")
	b := open(t, cluster.all[0].url, "tasks", wide)
	b.sees(`\u202e`)
	if value[bool](b, `!!document.querySelector('main img') || document.body.innerText.includes('\u202e')`) {
		t.Error("text of a task has become something else")
	}
}

// TestFilters: the query of the address is that of the API, and what is chosen on the page stands in the address.
func TestFilters(t *testing.T) {
	b := open(t, cluster.all[0].url, "tasks?behavior=trap&status=DEAD", wide)
	b.sees("trapped")
	b.until(`document.querySelectorAll('tbody tr').length === 1`)
	b.press("Dead")
	b.until(`location.hash === '#/tasks?behavior=trap'`)
	b.press("Clear all")
	b.until(`location.hash === '#/tasks' && document.querySelectorAll('tbody tr').length > 3`)
	b.do(chromedp.SetValue("#filter-name", "label", chromedp.ByQuery), chromedp.Evaluate(`document.querySelector('#filter-name').dispatchEvent(new Event('change', {bubbles: true}))`, nil))
	b.fill("#filter-value", "run=1\r") // other tests make tasks of other labels
	b.until(`location.hash === '#/tasks?label=run%3D1' && document.querySelectorAll('tbody tr').length === 1`)
	b.accessible()
	b.press("Save view")
	b.fill("#view-name", "of search")
	b.press("Save")
	b.until(`document.querySelector('.views select').value === 'of search'`)
	b.do(chromedp.Evaluate(`location.hash = '#/tasks?id_prefix=none-such'`, nil))
	b.sees("No task is like that")
	b.accessible()
	b.do(chromedp.Evaluate(`location.hash = '#/tasks?error=TRAP&created_from=2020-01-01T00:00:00Z'`, nil))
	b.sees("trapped")
	b.press("Times and order")
	b.accessible()
}

// TestLive: what happens in the cluster shows by itself, also after the node that serves the page was killed and started again.
func TestLive(t *testing.T) {
	serving := cluster.all[2]
	b := open(t, serving.url, "tasks?label=test%3Dlive", wide)
	b.allow("ERR_CONNECTION", "ERR_INCOMPLETE", "ERR_EMPTY", "503")
	b.sees("No task is like that")
	b.until(`document.querySelector('.l-live')`)
	submit := func(id string) {
		t.Helper()
		if _, err := cluster.do("POST", "/v1/tasks", fmt.Sprintf(`{"behavior":"wordcount","id":%q,"params":{"text":"a"},"labels":{"test":"live"}}`, id)); err != nil {
			t.Fatal(err)
		}
	}
	submit("live-1")
	b.sees("live-1")
	b.until(`document.querySelector('.s-success')`)
	serving.kill()
	b.sees("offline")
	b.sees("live-1") // what was there stays
	submit("live-2")
	if err := serving.start(); err != nil {
		t.Fatal(err)
	}
	b.sees("live-2")
	b.sees("connected")
	submit("live-3")
	b.sees("live-3")
}

// TestKeyboard: the page is used by keyboard alone: past the menu, to a task by its ID, and through the filters.
func TestKeyboard(t *testing.T) {
	b := open(t, cluster.all[0].url, "tasks", wide)
	b.sees("counted")
	b.sees("All that fit") // it comes when the page knows what the cluster serves
	b.do(chromedp.KeyEvent(kb.Tab))
	b.until(`document.activeElement.className === 'skip' && document.activeElement.getBoundingClientRect().top >= 0`)
	b.do(chromedp.KeyEvent(kb.Enter))
	b.until(`document.activeElement.id === 'main'`)
	for range 4 { // what to do with all that fit, the view, all, those that wait
		b.do(chromedp.KeyEvent(kb.Tab))
	}
	b.do(chromedp.KeyEvent(kb.Enter))
	b.until(`location.hash === '#/tasks?status=CREATED'`)
	b.do(input.DispatchKeyEvent(input.KeyDown).WithKey("/").WithText("/"), input.DispatchKeyEvent(input.KeyUp).WithKey("/")) // as one key: what it would type is prevented
	b.until(`document.activeElement.id === 'jump'`)
	b.do(chromedp.KeyEvent("counted"), chromedp.KeyEvent(kb.Enter))
	b.until(`location.hash === '#/tasks/counted'`)
	b.until(`document.activeElement.tagName === 'H1' || document.activeElement === document.body`)
}

// TestTheme: a chosen theme wins over the system's, and stays.
func TestTheme(t *testing.T) {
	b := open(t, cluster.all[0].url, "tasks", wide)
	b.sees("counted")
	light := value[string](b, `getComputedStyle(document.body).color`)
	b.do(chromedp.Evaluate(`(() => { const s = document.querySelector('.theme select'); s.value = 'dark'; s.dispatchEvent(new Event('change', {bubbles: true})); })()`, nil))
	b.until(`getComputedStyle(document.body).color !== ` + quoted(light))
	b.do(chromedp.Reload())
	b.sees("counted")
	b.until(`document.documentElement.dataset.theme === 'dark' && getComputedStyle(document.body).color !== ` + quoted(light))
	b.do(chromedp.Evaluate(`localStorage.clear()`, nil))
}
