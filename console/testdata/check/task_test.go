package check

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestTask: the page of a task that has succeeded, failed, and waits, in all looks.
func TestTask(t *testing.T) {
	looks(t, cluster.all[0].url, "tasks/counted", `"total": 3`, "task")
	looks(t, cluster.all[0].url, "tasks/hostile", "drawkcab", "hostile")
	b := open(t, cluster.all[0].url, "tasks/counted", wide)
	b.until(`/^[\d.]+ [KM]iB$/.test(document.querySelector('.attempts tbody tr').lastElementChild.innerText)`) // the most memory of its attempt
	b = open(t, cluster.all[0].url, "tasks/later", wide)
	b.sees("due in")
	b.sees("Why it waits")
	b.sees("due_later")
	b.accessible()
	b.do(chromedp.Evaluate(`location.hash = '#/tasks/none-such'`, nil))
	b.allow("404")
	b.sees("There is no such task")
	b.accessible()
}

// TestUnreadyModule: a task that waits for its module says how far the workers are with it, and what went wrong there.
func TestUnreadyModule(t *testing.T) {
	said := `{ namespace: 'default', id: 'later', behavior: 'x', waits: true, reasons: [{ code: 'module_not_ready', text: 'no worker has the module ready', workers: ['w1', 'w2'], preparing: [
		{ worker: 'w1', step: 'failed', since: new Date().toISOString(), failed: 2, error: 'n2: <b>no space left on device</b>' }, { worker: 'w2', step: 'compiling' }] }] }`
	b := open(t, cluster.all[0].url, "tasks/later", wide, answers(`(url) => url.pathname.endsWith('/why') ? `+said+` : undefined`))
	b.sees("2 tries failed, the last one: n2: <b>no space left on device</b>")
	b.sees("w2: compiling")
	b.accessible()
}

// TestHostileText: 64 KiB in one line, markup, escapes and turned text are text. The page stays as wide as the window, and begins with a part.
func TestHostileText(t *testing.T) {
	b := open(t, cluster.all[0].url, "tasks/hostile", look{390, 844, false})
	b.sees("Show all 65")
	if value[bool](b, `!!document.querySelector('main img, main script') || document.body.innerText.includes('\u202e') || document.body.innerText.includes('\u001b')`) {
		t.Error("text of a task has become something else")
	}
	b.do(chromedp.Evaluate(`[...document.querySelectorAll('button')].find((e) => e.innerText.startsWith('Show all')).click()`, nil))
	b.until(`document.body.innerText.includes('x'.repeat(60000)) && document.documentElement.scrollWidth <= innerWidth`)
}

// TestFollowed: progress, an outcome, a retry, a loss and a cancel show while the page is open; each action asks, and shows its commands.
func TestFollowed(t *testing.T) {
	post := func(path, body string) {
		t.Helper()
		if _, err := cluster.do("POST", path, body); err != nil {
			t.Fatal(err)
		}
	}
	post("/v1/tasks", `{"behavior":"ext","id":"followed","params":{"n":1}}`)
	b := open(t, cluster.all[1].url, "tasks/followed", wide)
	b.until(`document.querySelector('.l-live')`)
	token, err := cluster.accept("followed")
	if err != nil {
		t.Fatal(err)
	}
	b.sees("held by")
	post("/v1/tasks/followed/heartbeat", fmt.Sprintf(`{"token":%d,"progress":{"done":"half"},"checkpoint":{"at":7}}`, token))
	b.sees(`"done": "half"`)
	b.sees("Checkpoint")
	b.accessible()
	b.shot("task-running")
	post("/v1/tasks/followed/finish", fmt.Sprintf(`{"token":%d,"error":{"code":"broken","message":"the pipe","retryable":false}}`, token))
	b.sees("the pipe")

	b.press("Retry")
	b.sees("Run this task again?")
	b.press("As a command")
	b.sees("taskrt retry followed --server " + cluster.all[1].url)
	b.sees("curl -X POST " + cluster.all[1].url + "/v1/tasks/followed/retry")
	b.accessible()
	b.shot("ask")
	b.press("Do nothing")
	b.until(`!document.querySelector('dialog') && document.activeElement.innerText === 'Retry'`)
	b.press("Retry")
	b.do(chromedp.Evaluate(`document.querySelector('dialog .primary').click()`, nil))
	b.sees("The task is due again.")
	b.until(`document.querySelector('.head .badge').innerText.includes('retrying') || document.querySelector('.head .badge').innerText.includes('waiting')`)

	b.press("Resubmit")
	b.fill("#delay", "5h")
	b.fill("#params", `{"n":2`)
	b.do(chromedp.Evaluate(`document.querySelector('dialog .primary').click()`, nil))
	b.sees("The params are not JSON")
	b.fill("#params", `}`)
	b.do(chromedp.Evaluate(`document.querySelector('dialog .primary').click()`, nil))
	b.sees("The task was resubmitted.")
	b.sees(`"n": 2`)

	b.press("Cancel")
	b.press("Cancel the task")
	b.until(`!document.querySelector('dialog') && document.querySelector('.failed')?.innerText.includes('CANCELLED')`)
	b.press("Remove")
	b.press("Remove for good")
	b.until(`location.hash === '#/tasks'`)
	b.sees("The task is removed.")
}

// TestLoss: a lease that runs out shows as a loss, on the line of time.
func TestLoss(t *testing.T) {
	for _, r := range [][3]string{{"PUT", "/v1/behaviors/short", `{"kind":"external","lease":"1s"}`}, {"POST", "/v1/tasks", `{"behavior":"short","id":"lost-1"}`}, {"POST", "/v1/behaviors/short/accept", `{"worker":"silent","wait":"10s"}`}} {
		if _, err := cluster.do(r[0], r[1], r[2]); err != nil {
			t.Fatal(err)
		}
	}
	b := open(t, cluster.all[1].url, "tasks/lost-1", wide)
	b.until(`document.querySelector('.bar.s-lost')`)
	b.sees("1 lost since")
	b.accessible()
	b.shot("task-lost")
}
