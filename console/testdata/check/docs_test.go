package check

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestDocs: each page of the documentation, narrow and dark, wide and light (SPEC U4).
func TestDocs(t *testing.T) {
	b := visit(t, cluster.all[0].url+"/docs", wide)
	b.until(`location.pathname === '/docs/'`)
	pages := value[[]string](b, `[...document.querySelectorAll('.menu a:not(.away)')].map((a) => a.href)`)
	if len(pages) < 20 {
		t.Fatalf("the menu has %d pages", len(pages))
	}
	pages = append(pages, cluster.all[0].url+"/docs/", cluster.all[0].url+"/docs/search.html?q=token")
	for _, page := range pages {
		name := strings.TrimSuffix(filepath.Base(page), ".html")
		t.Run(name, func(t *testing.T) {
			b := visit(t, page, wide)
			b.until(`document.readyState === 'complete' && document.querySelector('h1')`)
			b.accessible()
			b.shot("docs-" + name)
			b.as(look{390, 844, true})
			b.accessible()
			b.shot("docs-" + name + "-narrow")
		})
	}
}

// TestDocsByKeyboard: the search is found, and what it finds is opened, without a mouse. The theme is kept.
func TestDocsByKeyboard(t *testing.T) {
	b := visit(t, cluster.all[0].url+"/docs/install.html", wide)
	b.until(`document.readyState === 'complete'`)
	b.do(chromedp.KeyEvent("/"))
	b.until(`document.activeElement.id === 'q'`)
	b.do(chromedp.Evaluate(`document.activeElement.value = "";0`, nil), chromedp.KeyEvent("test natively"+kb.Enter)) // chromedp types the / that the page has refused
	b.until(`location.pathname.endsWith('/search.html') && document.querySelector('#results a')`)
	b.sees("place")
	if first := value[string](b, `document.querySelector('#results a').innerText`); first != "Test it natively" {
		t.Errorf("found first: %q", first)
	}
	b.do(chromedp.Focus("#q", chromedp.ByQuery), chromedp.KeyEvent(kb.ArrowDown+kb.Enter))
	b.until(`location.pathname.endsWith('/write-a-plugin.html') && location.hash === '#test-it-natively'`)

	b = visit(t, cluster.all[0].url+"/docs/search.html?q=no_leader", wide)
	b.until(`document.querySelector('#results a')?.getAttribute('href') === 'errors.html#no_leader'`)
	b.do(chromedp.Focus("#q", chromedp.ByQuery), chromedp.SendKeys("#q", " qqqq"))
	b.sees("no place has all of the words")
	b.do(chromedp.Evaluate(`document.activeElement.value = "";0`, nil), chromedp.SendKeys("#q", "<b>qqqq</b>"))
	b.sees("Nothing has been found")

	b.do(chromedp.Evaluate(`{ const s = document.querySelector('.theme'); s.value = 'dark'; s.dispatchEvent(new Event('change')); }`, nil), chromedp.Reload())
	b.until(`document.documentElement.dataset.theme === 'dark' && document.querySelector('.theme').value === 'dark'`)
	b.do(chromedp.Evaluate(`localStorage.removeItem('taskrt.theme')`, nil))
}

// TestDocsNarrow: the menu of a narrow window opens and closes.
func TestDocsNarrow(t *testing.T) {
	b := visit(t, cluster.all[0].url+"/docs/errors.html", look{390, 844, false})
	b.until(`document.readyState === 'complete' && document.querySelector('.menu').offsetHeight === 0`)
	b.press("Menu")
	b.until(`document.querySelector('.menu').offsetHeight > 0 && document.querySelector('.menu-button').getAttribute('aria-expanded') === 'true'`)
	b.accessible()
	b.press("The contract")
	b.until(`location.pathname.endsWith('/spec.html')`)
}

// TestDocsFromTheConsole: the console leads to the documentation and back, also below a path of a proxy.
func TestDocsFromTheConsole(t *testing.T) {
	node, err := url.Parse(cluster.all[0].url)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(http.StripPrefix("/below", &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(node); r.Out.Host = r.In.Host }}))
	defer proxy.Close()
	b := open(t, proxy.URL+"/below", "tasks", wide)
	b.press("Documentation")
	b.until(`location.pathname === '/below/docs/' && document.querySelector('h1')`)
	b.press("Errors")
	b.until(`location.pathname === '/below/docs/errors.html'`)
	b.press("Console")
	b.until(`location.pathname === '/below/'`)
	b.do(chromedp.Navigate(proxy.URL + "/below/docs"))
	b.until(`location.pathname === '/below/docs/' && document.styleSheets.length > 0`)
	b.do(chromedp.Navigate(proxy.URL + "/below/docs/errors"))
	b.until(`location.pathname === '/below/docs/errors.html'`)
}

// TestDocsWithoutScripts: without scripts all is there but the search, which says so.
func TestDocsWithoutScripts(t *testing.T) {
	b := visit(t, "about:blank", look{390, 844, false})
	b.do(emulation.SetScriptExecutionDisabled(true), chromedp.Navigate(cluster.all[0].url+"/docs/errors.html"), chromedp.WaitVisible("#no_leader", chromedp.ByQuery),
		chromedp.WaitVisible(".menu", chromedp.ByQuery), chromedp.WaitNotVisible(".theme", chromedp.ByQuery))
	b.do(chromedp.Navigate(cluster.all[0].url+"/docs/search.html?q=x"), chromedp.WaitVisible("noscript", chromedp.ByQuery))
}

// TestDocsFromTheDisk: what `make docs` writes is opened without a server, and searched.
func TestDocsFromTheDisk(t *testing.T) {
	out := filepath.Join(t.TempDir(), "docs")
	cmd := exec.Command("go", "run", "./docs/site/write", "-out", out)
	cmd.Dir = root
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	b := visit(t, "file://"+filepath.Join(out, "index.html"), wide)
	b.until(`document.querySelector('h1')`)
	b.fill("#q", "no_leader"+kb.Enter)
	b.until(`document.querySelector('#results a')?.getAttribute('href') === 'errors.html#no_leader'`)
	b.do(chromedp.Evaluate(`document.querySelector('#results a').click()`, nil))
	b.until(`location.pathname.endsWith('/errors.html') && location.hash === '#no_leader'`)
}
