package check

import (
	"context"
	"strconv"
	"testing"

	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// answers lets a page's requests be answered by a function of JavaScript, (URL, signal) → object, Response or nothing: then the cluster answers.
func answers(function string) string {
	return `{ const real = window.fetch, say = ` + function + `;
		window.fetch = async (url, options = {}) => {
			const said = say(new URL(url, location.href), options.signal);
			if (said === undefined) return real(url, options);
			return said instanceof Response ? said : new Response(JSON.stringify(said), { headers: { 'Content-Type': 'application/json' } });
		}; }`
}

// heap is how many bytes the page holds when everything that nobody holds is gone.
func (b *tab) heap() float64 {
	b.t.Helper()
	var used float64
	b.do(heapprofiler.CollectGarbage(), chromedp.ActionFunc(func(ctx context.Context) (err error) {
		used, _, _, _, err = runtime.GetHeapUsage().Do(ctx)
		return err
	}))
	return used
}

// operation answers for an operation "big" whose partitions have these names.
const operation = `
	const described = { id: 'big', namespace: 'default', behavior: 'ext', status: window.going ? 'RUNNING' : 'SUCCESS', partitions: names.length, created_at: '2026-01-01T00:00:00.000Z', finished_at: window.going ? undefined : '2026-01-01T01:00:00.000Z', version: '', instance: 1, priority: 4,
		counts: { waiting: 0, running: 0, retrying: 0, success: names.length, failure: 0 }, cleanups: { made: 0, dropped: 0 } };
	const one = (i) => ({ id: 'big.' + names[i], partition: names[i], status: i % 1000 ? 'SUCCESS' : 'FAILURE', final: true, started_at: '2026-01-01T00:00:00.000Z', finished_at: new Date(Date.UTC(2026, 0, 1) + 1 + i).toISOString() });
	const pages = (url) => {
		if (url.pathname.endsWith('/v1/operations/big')) return { operation: described };
		if (!url.pathname.endsWith('/v1/tasks') || url.searchParams.get('parent') !== 'big') return undefined;
		const from = Number(url.searchParams.get('cursor')) || 0, to = Math.min(names.length, from + 1000), tasks = [];
		for (let i = from; i < to; i++) tasks.push(one(i));
		return { tasks, cursor: to < names.length ? String(to) : undefined };
	};`

// TestLargeMap: the map of 100,000 partitions opens, holds little, and is not painted anew for each square that is pointed at.
func TestLargeMap(t *testing.T) {
	painted := `window.painted = 0; { const real = CanvasRenderingContext2D.prototype.fillRect; CanvasRenderingContext2D.prototype.fillRect = function (...a) { window.painted++; real.apply(this, a); }; }`
	b := open(t, cluster.all[0].url, "operations/big", wide, painted, answers(`(() => { const names = Array.from({ length: 100000 }, (_, i) => String(i)); `+operation+` return pages; })()`))
	b.sees("The slowest:")
	b.sees("99999")
	b.until(`window.painted >= 100000`)
	b.accessible()
	b.shot("large-map")
	if got := b.heap(); got > 96<<20 {
		t.Errorf("the page holds %.0f bytes", got)
	}
	b.do(chromedp.Focus("canvas", chromedp.ByQuery), chromedp.Evaluate(`window.painted = 0`, nil))
	for range 10 {
		b.do(chromedp.KeyEvent(kb.ArrowRight))
	}
	b.sees("9 success, took 10 ms")
	at := value[struct{ X, Y float64 }](b, `(() => { const r = document.querySelector('canvas').getBoundingClientRect(); return { X: r.x + 1, Y: r.y + 1 }; })()`)
	b.do(input.DispatchMouseEvent(input.MouseMoved, at.X, at.Y))
	b.sees("0 failed, took 1 ms")
	if n := value[int](b, `window.painted`); n >= 100000 {
		t.Errorf("%d squares were painted to point at eleven", n)
	}
	b.do(input.DispatchMouseEvent(input.MousePressed, at.X, at.Y).WithButton(input.Left).WithClickCount(1), input.DispatchMouseEvent(input.MouseReleased, at.X, at.Y).WithButton(input.Left).WithClickCount(1))
	b.allow("404") // it is made up
	b.until(`location.hash === '#/tasks/big.0'`)
}

// TestMapOfNames: partitions with names have a square each, also where some names are numbers.
func TestMapOfNames(t *testing.T) {
	b := open(t, cluster.all[0].url, "operations/big", wide, answers(`(() => { const names = ['1', 'a', '7', '0', 'b']; `+operation+` return pages; })()`))
	b.sees("The slowest:")
	b.do(chromedp.Focus("canvas", chromedp.ByQuery))
	for _, name := range []string{"a", "1", "7", "0", "b"} { // 1 is the place of a number, the others take what is free
		b.do(chromedp.KeyEvent(kb.ArrowRight))
		b.until(`document.querySelector('.map-at strong')?.innerText === ` + quoted(name))
	}
}

// TestMillion: a list over a million tasks is one page of them, however far one goes.
func TestMillion(t *testing.T) {
	b := open(t, cluster.all[0].url, "tasks", wide, answers(`(url) => {
		if (!url.pathname.endsWith('/v1/tasks')) return undefined;
		if (url.searchParams.get('count')) return { tasks: [], count: 1000000, count_more: true };
		const from = Number(url.searchParams.get('cursor')) || 0, tasks = [];
		for (let i = from; i < from + 50; i++) tasks.push({ id: 'million-' + i, namespace: 'default', behavior: 'ext', status: 'SUCCESS', final: true, attempt: 1, failures: 0, lost_count: 0, created_at: '2026-01-01T00:00:00.000Z', labels: {} });
		return { tasks, cursor: String(from + 50), examined: 1000 };
	}`))
	b.sees("1\u202f000\u202f000 or more tasks")
	b.sees("million-49")
	turn := func(button string, from, to, step int) {
		t.Helper()
		for page := from; page != to; page += step {
			b.press(button)
			b.until(`document.querySelectorAll('tbody tr').length === 50 && document.querySelector('tbody a').innerText === 'million-' + ` + strconv.Itoa(50*(page+step)))
		}
	}
	turn("Next", 0, 5, 1)
	before := b.heap()
	turn("Next", 5, 25, 1)
	turn("Previous", 25, 20, -1)
	if more := b.heap() - before; more > 4<<20 {
		t.Errorf("25 pages on, the page holds %.0f bytes more", more)
	}
	b.press("First page")
	b.until(`document.querySelector('tbody a').innerText === 'million-0'`)
}
