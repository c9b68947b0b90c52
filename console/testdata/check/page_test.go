package check

import (
	"context"
	_ "embed"
	"encoding/json"
	"flag"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

//go:embed testdata/axe.min.js
var axe string

// watchPolicy remembers what the content security policy has refused.
const watchPolicy = `window.refused = []; document.addEventListener('securitypolicyviolation', (e) => window.refused.push(e.violatedDirective + ' ' + e.blockedURI));`

// tab is a tab of the browser with the console in it.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu      sync.Mutex
	said    []string // errors of the page's console
	allowed []string // beginnings of errors that a test provokes
}

// look is how a page is looked at.
type look struct {
	width, height int64
	dark          bool
}

var wide = look{1440, 900, false}

// open opens a place of the console. At the end nothing may have been said in the browser's console, and refused by the policy.
func open(t *testing.T, url, place string, l look, scripts ...string) *tab {
	t.Helper()
	return visit(t, url+"/#/"+place, l, scripts...)
}

// visit opens a page, in which the scripts run before its own.
func visit(t *testing.T, url string, l look, scripts ...string) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	b := &tab{t: t, ctx: ctx}
	t.Cleanup(cancel)
	if err := chromedp.Run(ctx); err != nil { // the tab lives as long as the context of its first run
		t.Fatal(err)
	}
	chromedp.ListenTarget(ctx, b.listen)
	b.do(
		log.Enable(), runtime.Enable(),
	)
	for _, script := range append(scripts, watchPolicy) {
		b.do(chromedp.ActionFunc(func(ctx context.Context) error {
			_, err := page.AddScriptToEvaluateOnNewDocument(script).Do(ctx)
			return err
		}))
	}
	b.as(l)
	b.do(chromedp.Navigate(url))
	t.Cleanup(b.quiet)
	return b
}

// as looks at the page in another way.
func (b *tab) as(l look) {
	b.t.Helper()
	scheme := "light"
	if l.dark {
		scheme = "dark"
	}
	b.do(
		emulation.SetDeviceMetricsOverride(l.width, l.height, 1, l.width < 600),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}),
	)
}

func (b *tab) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *log.EventEntryAdded:
		if e.Entry.Level == log.LevelError || e.Entry.Level == log.LevelWarning {
			b.said = append(b.said, e.Entry.Text+" "+e.Entry.URL)
		}
	case *runtime.EventExceptionThrown:
		b.said = append(b.said, e.ExceptionDetails.Error())
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
			text, _ := json.Marshal(e.Args)
			b.said = append(b.said, string(text))
		}
	}
}

// quiet fails the test if the page has complained.
func (b *tab) quiet() {
	b.t.Helper()
	var refused []string
	if err := b.try(chromedp.Evaluate(`window.refused || []`, &refused)); err != nil {
		b.t.Errorf("the page does not answer: %v", err)
	}
	for _, r := range refused {
		b.t.Errorf("refused by the policy: %s", r)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.said {
		expected := false
		for _, a := range b.allowed {
			expected = expected || strings.Contains(s, a)
		}
		if !expected {
			b.t.Errorf("the browser's console: %.500s", s)
		}
	}
}

// allow lets the browser say something that the test provokes.
func (b *tab) allow(text ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.allowed = append(b.allowed, text...)
}

func (b *tab) try(actions ...chromedp.Action) error {
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	return chromedp.Run(ctx, actions...)
}

func (b *tab) do(actions ...chromedp.Action) {
	b.t.Helper()
	if err := b.try(actions...); err != nil {
		b.shot("failed-" + strings.ReplaceAll(b.t.Name(), "/", "-"))
		b.t.Fatal(err)
	}
}

// until waits until an expression of JavaScript is true.
func (b *tab) until(condition string) {
	b.t.Helper()
	err := eventually(func() error {
		var is bool
		if err := b.try(chromedp.Evaluate("!!("+condition+")", &is)); err != nil {
			return err
		}
		if !is {
			return errNotYet
		}
		return nil
	})
	if err != nil {
		b.shot("failed-" + strings.ReplaceAll(b.t.Name(), "/", "-"))
		var text string
		_ = b.try(chromedp.Evaluate("location.href + document.body.innerText", &text))
		b.t.Fatalf("never: %s: %v; the page:\n%.1500s", condition, err, text)
	}
}

type notYet struct{}

func (notYet) Error() string { return "not yet" }

var errNotYet = notYet{}

// sees waits until the page shows a text.
func (b *tab) sees(text string) {
	b.t.Helper()
	b.until("document.body.innerText.includes(" + quoted(text) + ")")
}

// press clicks on the button or link with this text.
func (b *tab) press(text string) {
	b.t.Helper()
	find := `[...document.querySelectorAll('dialog[open] button, dialog[open] a')].concat([...document.querySelectorAll('button, a, summary')]).find((e) => e.innerText.trim() === ` + quoted(text) + ` && e.offsetParent !== null && !e.disabled)`
	b.until("(() => { const e = " + find + "; e?.focus(); e?.click(); return e; })()")
}

// fill types into a field.
func (b *tab) fill(selector, text string) {
	b.t.Helper()
	b.until("document.querySelector(" + quoted(selector) + ")")
	b.do(chromedp.Focus(selector, chromedp.ByQuery), chromedp.SendKeys(selector, text, chromedp.ByQuery))
}

// value evaluates an expression.
func value[T any](b *tab, expression string) T {
	b.t.Helper()
	var v T
	b.do(chromedp.Evaluate(expression, &v))
	return v
}

// accessible fails the test where the page is not: axe finds nothing, and nothing is wider than the window.
func (b *tab) accessible() {
	b.t.Helper()
	var found []struct{ ID, Help, Target, HTML string }
	if !value[bool](b, `!!window.axe`) {
		b.do(chromedp.Evaluate(axe+";0", nil))
	}
	b.do(chromedp.Evaluate(`axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']}).then((r) => r.violations.flatMap((v) => v.nodes.map((n) => ({ID: v.id, Help: v.help, Target: String(n.target), HTML: n.html.slice(0, 200) + ' ' + (n.any[0]?.message || '')}))))`,
		&found, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	for _, f := range found {
		b.t.Errorf("axe: %s: %s: %s %s", f.ID, f.Help, f.Target, f.HTML)
	}
	if over := value[int](b, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
		b.t.Errorf("the page is %d pixels wider than the window", over)
	}
}

// shot keeps a picture where CONSOLE_SHOTS names a directory.
func (b *tab) shot(name string) {
	dir := os.Getenv("CONSOLE_SHOTS")
	if dir == "" {
		return
	}
	var png []byte
	ctx, cancel := context.WithTimeout(b.ctx, 10*time.Second)
	defer cancel()
	if err := chromedp.Run(ctx, chromedp.CaptureScreenshot(&png)); err == nil {
		_ = os.WriteFile(filepath.Join(dir, name+".png"), png, 0o600)
	}
}

// looks looks at a place in both widths and both themes: wide in light, and narrow in dark, as colours do not depend on the width. With -every also
// the other two.
func looks(t *testing.T, url, place, ready, name string) {
	t.Helper()
	all := []struct {
		name string
		look
	}{{"wide", wide}, {"narrow-dark", look{390, 844, true}}, {"wide-dark", look{1440, 900, true}}, {"narrow", look{390, 844, false}}}
	if !*every {
		all = all[:2]
	}
	for _, l := range all {
		t.Run(name+"-"+l.name, func(t *testing.T) {
			b := open(t, url, place, l.look)
			b.sees(ready)
			b.accessible()
			b.shot(name + "-" + l.name)
		})
	}
}

var every = flag.Bool("every", false, "look at each page in all four combinations of width and theme")

func freeAddress() (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer ln.Close()
	return ln.Addr().String(), nil
}
