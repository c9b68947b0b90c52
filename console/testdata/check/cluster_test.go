package check

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestPages: the pages of what runs and who runs it, in all looks.
func TestPages(t *testing.T) {
	for _, p := range [][2]string{{"failures", "TRAP"}, {"behaviors", "wordcount"}, {"behaviors/wordcount", "the last at the right"}, {"workers", "slots in use"}, {"cluster", "leads"}} {
		looks(t, cluster.all[0].url, p[0], p[1], strings.ReplaceAll(p[0], "/", "-"))
	}
}

// TestBehavior: a behavior is paused and resumed, and an older version activated.
func TestBehavior(t *testing.T) {
	b := open(t, cluster.all[0].url, "behaviors/fails", wide)
	b.press("Pause")
	b.until(`document.querySelector('dialog')`)
	b.accessible()
	b.press("Pause")
	b.until(`document.querySelector('.head .s-paused')`)
	b.until(`!document.querySelector('dialog')`)
	b.press("Resume")
	b.until(`document.querySelector('dialog')`)
	b.press("Resume")
	b.until(`document.querySelector('.head .s-active')`)

	b = open(t, cluster.all[0].url, "behaviors/wordcount", wide)
	b.until(`[...document.querySelectorAll('main table')].some((t) => t.innerText.includes('Memory') && /[KM]iB/.test(t.innerText))`)
	b = open(t, cluster.all[0].url, "behaviors", wide)
	b.press("Upload a module")
	b.until(`document.querySelector('#wasm')`)
	b.accessible()
	file, err := filepath.Abs(filepath.Join(root, "testdata", "wasm", "trap.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	guest := func(name string) string { return filepath.Join(filepath.Dir(file), name) }
	b.do(chromedp.SetUploadFiles("#wasm", []string{guest("steps.wasm")}, chromedp.ByQuery))
	b.sees("What the module says") // before anything is sent
	for _, want := range []string{"taskrt_v1", "steps-stuck", "five steps, each with a checkpoint"} {
		b.sees(want)
	}
	b.do(chromedp.Evaluate(`document.querySelector('.said details').open = true`, nil))
	b.sees(`"object",`) // of its params_schema
	b.shot("upload")
	b.accessible()
	b.do(chromedp.SetUploadFiles("#wasm", []string{guest("http.wasm")}, chromedp.ByQuery))
	b.until(`[...document.querySelectorAll('.said .facts div')].some((d) => d.innerText.includes('Capabilities') && d.innerText.includes('http'))`)
	b.do(chromedp.SetUploadFiles("#wasm", []string{guest("build-index.wasm")}, chromedp.ByQuery))
	b.sees("the cluster runs the module to ask for it")
	b.do(chromedp.SetUploadFiles("#wasm", []string{guest("grow.wasm")}, chromedp.ByQuery))
	b.sees("4.0 MiB")
	b.do(chromedp.SetUploadFiles("#wasm", []string{file}, chromedp.ByQuery))
	b.sees("dies at once")
	b.fill("#module-name", "uploaded")
	b.until(`document.querySelector('.said strong').innerText === 'uploaded'`)
	b.accessible()
	b.do(chromedp.Evaluate(`document.querySelector('dialog .primary').click()`, nil))
	b.sees("The module is active")
	b.press("Done")
	b.sees("uploaded")

	b.press("Upload a module")
	b.until(`document.querySelector('#wasm')`)
	b.do(chromedp.SetUploadFiles("#wasm", []string{strings.Replace(file, ".wasm", ".wat", 1)}, chromedp.ByQuery))
	b.do(chromedp.Evaluate(`document.querySelector('dialog .primary').click()`, nil))
	b.sees("does not begin as a module of WebAssembly does")
	b.press("Do nothing")
	b.do(chromedp.Evaluate(`location.hash = '#/behaviors/uploaded'`, nil))
	b.press("Remove")
	b.press("Remove for good")
	b.until(`location.hash === '#/behaviors'`)
}

// TestRates: the page of a behavior counts what is submitted, succeeds and fails while it is open, and draws it.
func TestRates(t *testing.T) {
	b := open(t, cluster.all[0].url, "behaviors/fails", wide)
	b.until(`document.querySelector('.rates .line')`)
	for i := range 20 { // half of them fail until they are given up
		if _, err := cluster.do("POST", "/v1/tasks", fmt.Sprintf(`{"behavior":"fails","id":"rated-%d","params":%d}`, i, i%2*9)); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range []string{"submitted", "succeed", "fail"} {
		b.until(`window["` + line + `"] ||= [...document.querySelectorAll('.rates .legend li')].some((l) => l.innerText.endsWith(' ` + line + `') && !l.innerText.startsWith('0 '))`)
	}
	b.until(`(document.querySelector('.rates .line.good').getAttribute('d').match(/H/g) || []).length > 1`) // samples follow each other
	if drawn := value[string](b, `document.querySelector('.rates .line.good').getAttribute('d')`); strings.Count(drawn, "M") != 1 {
		t.Errorf("the line breaks off between samples: %s", drawn)
	}
	b.accessible()
	b.shot("rates")
}

// TestNodes: a node is drained and gets tasks again; leadership is handed over; a node that is away is told apart.
func TestNodes(t *testing.T) {
	b := open(t, cluster.all[0].url, "cluster", wide)
	b.until(`document.querySelectorAll('tbody tr').length === 3`)
	b.press("Drain")
	b.until(`document.querySelector('dialog')`)
	b.do(chromedp.Evaluate(`document.querySelector('dialog .primary').click()`, nil))
	b.until(`document.querySelector('.s-drained') && !document.querySelector('dialog')`)
	b.press("Undrain")
	b.until(`document.querySelector('dialog')`)
	b.do(chromedp.Evaluate(`document.querySelector('dialog .primary').click()`, nil))
	b.until(`!document.querySelector('.s-drained') && !document.querySelector('dialog')`)
	leader := value[string](b, `document.querySelector('.sub strong').innerText`)
	b.allow("503")
	b.press("Hand leadership over")
	b.until(`document.querySelector('dialog')`)
	b.press("Hand over")
	b.until(`document.querySelector('.sub strong') && document.querySelector('.sub strong').innerText !== ` + quoted(leader))

	away := cluster.all[2]
	away.kill()
	b.until(`document.querySelector('.s-unreachable')`)
	b.accessible()
	b.shot("cluster-away")
	if err := away.start(); err != nil {
		t.Fatal(err)
	}
	b.until(`!document.querySelector('.s-unreachable')`)
	if err := away.ready(); err != nil {
		t.Fatal(err)
	}
}
