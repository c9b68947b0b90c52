// A map of up to 100,000 partitions on a canvas: each is a square, coloured by what it does.
import { html, useState, useEffect, useRef } from '../core/html.js';
import { get } from '../core/api.js';
import { follow } from '../core/events.js';
import { go, href, inSpace } from '../core/route.js';
import { length } from '../core/clock.js';
import { statusOf, count } from './ui.js';
import { Text } from './text.js';

const states = ['unmade', 'CREATED', 'RUNNING', 'RETRYING', 'SUCCESS', 'DEAD'];
const names = ['not made yet', 'waiting', 'running', 'retrying', 'success', 'failed'];
const colours = ['--sunken', '--line-strong', '--run', '--warn', '--good', '--bad'];
const most = 100000;
const slowestShown = 8;

/** What is known of the partitions: a byte for each, and where its task is. */
class Partitions {
  constructor(n) {
    this.state = new Uint8Array(Math.min(n, most));
    this.ids = new Array(this.state.length);
    this.took = new Float64Array(this.state.length);
    this.names = new Array(this.state.length);
    this.byName = new Map();
    this.free = 0; // no place before it is
  }

  /** The place of a task: its partition as a number, else the first that is free, in the order in which they come. */
  put(t) {
    if (t.partition === undefined) return;
    let i = this.byName.get(t.partition);
    if (i === undefined) {
      i = /^\d+$/.test(t.partition) ? Number(t.partition) : this.state.length;
      if (i >= this.state.length || this.ids[i] !== undefined) { // a name, or a number that is one among names
        while (this.ids[this.free] !== undefined) this.free++;
        i = this.free;
      }
      if (i >= this.state.length) return;
      this.byName.set(t.partition, i);
    }
    this.ids[i] = t.id;
    this.names[i] = t.partition;
    this.state[i] = Math.max(1, states.indexOf(statusOf(t)));
    this.took[i] = t.started_at && t.finished_at ? Date.parse(t.finished_at) - Date.parse(t.started_at) : 0;
  }

  /** The slowest that have ended. */
  slowest() {
    const top = [];
    for (let i = 0; i < this.took.length; i++) {
      if (this.took[i] <= 0 || (top.length === slowestShown && this.took[i] <= this.took[top[top.length - 1]])) continue;
      top.push(i);
      top.sort((a, b) => this.took[b] - this.took[a]);
      if (top.length > slowestShown) top.pop();
    }
    return top;
  }
}

/** @param {{o: any, namespace: string}} props */
export function PartitionMap({ o, namespace }) {
  const canvas = useRef();
  const all = useRef(null);
  if (!all.current) all.current = new Partitions(o.partitions);
  const [seen, setSeen] = useState(0); // rises with what is known
  const [loaded, setLoaded] = useState(0);
  const [at, setAt] = useState(-1);
  useEffect(() => load(o, namespace, all.current, setLoaded, () => setSeen((n) => n + 1)), [o.id, namespace]);
  const grid = useRef(null);
  const pointed = useRef(at);
  pointed.current = at;
  useEffect(() => {
    const paint = () => {
      grid.current = draw(canvas.current, all.current);
      point(canvas.current, grid.current, pointed.current);
    };
    paint();
    addEventListener('resize', paint);
    return () => removeEventListener('resize', paint);
  }, [seen]);
  useEffect(() => point(canvas.current, grid.current, at), [at]);
  const n = all.current.state.length;
  const find = (e) => {
    const box = canvas.current.getBoundingClientRect();
    const { size, columns } = grid.current;
    const column = Math.floor((e.clientX - box.left) / size);
    const i = Math.floor((e.clientY - box.top) / size) * columns + column;
    return column < columns && i >= 0 && i < n ? i : -1;
  };
  const open = (i) => { if (i >= 0 && all.current.ids[i]) go(['tasks', all.current.ids[i]], inSpace(namespace)); };
  const key = (e) => {
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: grid.current.columns, ArrowUp: -grid.current.columns }[e.key];
    if (step) {
      e.preventDefault();
      setAt((i) => Math.max(0, Math.min(n - 1, i + step)));
    } else if (e.key === 'Enter') open(at);
  };
  const slow = loaded >= n ? all.current.slowest() : [];
  return html`<div class="map"><canvas ref=${canvas} tabindex="0" role="application" aria-label="Map of ${n} partitions: ${Object.entries(o.counts).map(([k, v]) => v + ' ' + k).join(', ')}. The arrow keys walk over it, Enter opens a task." onMouseMove=${(e) => setAt(find(e))} onMouseLeave=${() => setAt(-1)} onClick=${(e) => open(find(e))} onKeyDown=${key}></canvas>
    <p class="map-at" aria-live="polite">${at >= 0 ? html`<strong><${Text} of=${all.current.names[at] ?? at} max=${80} /></strong> ${names[all.current.state[at]]}${all.current.took[at] ? `, took ${length(all.current.took[at])}` : ''}` : loaded < n ? `${count(loaded)} of ${count(n)} looked at…` : html`<span class="note">Point at a square.</span>`}</p>
    <ul class="legend">${names.map((name, i) => html`<li><span class="key k${i}" aria-hidden="true"></span>${name}</li>`)}</ul>
    ${slow.length > 0 && html`<p class="slowest"><strong>The slowest:</strong> ${slow.map((i) => html`<a href=${href(['tasks', all.current.ids[i]], inSpace(namespace))}><${Text} of=${all.current.names[i]} max=${40} /></a> ${length(all.current.took[i])} `)}</p>`}
  </div>`;
}

/** Reads all partitions, page by page, and what changes meanwhile and after. It returns what ends it. */
function load(o, namespace, all, progress, changed) {
  const end = new AbortController();
  let timer = null;
  const soon = () => {
    timer ??= setTimeout(() => {
      timer = null;
      changed();
    }, 250);
  };
  const newer = new Set();
  const unfollow = o.finished_at ? () => {} : follow({ ...inSpace(namespace), parent: o.id }, (kind, data) => {
    if (!data.task) return;
    if (newer.size < most) newer.add(data.task.id);
    all.put(data.task);
    soon();
  });
  (async () => {
    let n = 0;
    const query = { ...inSpace(namespace), parent: o.id, limit: 1000, fields: ['id', 'partition', 'status', 'final', 'started_at', 'finished_at'] };
    try {
      for (let cursor = ''; ;) {
        const page = await get('v1/tasks', { ...query, cursor }, { signal: end.signal });
        for (const t of page.tasks) {
          if (t.partition !== undefined) n++;
          if (!newer.has(t.id)) all.put(t);
        }
        progress(n);
        soon();
        cursor = page.cursor;
        if (!cursor) break;
      }
      newer.clear();
      progress(all.state.length);
    } catch {
      // The page says that the connection is gone; what is known stays.
    }
  })();
  return () => {
    end.abort();
    unfollow();
    clearTimeout(timer);
  };
}

/** Paints the squares as large as they fit, on a picture of its own: what is pointed at changes, and they do not. It returns how they lie. */
function draw(canvas, all) {
  const n = all.state.length;
  const width = canvas.parentElement.clientWidth;
  const size = Math.max(2, Math.min(18, Math.floor(Math.sqrt((width * 320) / n))));
  const columns = Math.max(1, Math.floor(width / size));
  const height = Math.ceil(n / columns) * size;
  const ratio = devicePixelRatio || 1;
  const picture = document.createElement('canvas');
  for (const c of [canvas, picture]) {
    c.width = width * ratio;
    c.height = height * ratio;
  }
  canvas.style.height = height + 'px';
  const pen = picture.getContext('2d');
  pen.scale(ratio, ratio);
  const style = getComputedStyle(document.documentElement);
  const paints = colours.map((c) => style.getPropertyValue(c));
  const gap = size > 5 ? 2 : size > 2 ? 1 : 0;
  for (let s = 0; s < states.length; s++) {
    pen.fillStyle = paints[s];
    for (let i = 0; i < n; i++) if (all.state[i] === s) pen.fillRect((i % columns) * size, Math.floor(i / columns) * size, size - gap, size - gap);
  }
  return { size, columns, gap, ratio, picture };
}

/** Shows the picture, with a frame around the square that is pointed at. */
function point(canvas, { size, columns, gap, ratio, picture }, at) {
  const pen = canvas.getContext('2d');
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.clearRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(picture, 0, 0);
  if (at < 0) return;
  pen.scale(ratio, ratio);
  pen.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue('--text');
  pen.lineWidth = 2;
  pen.strokeRect((at % columns) * size - 1, Math.floor(at / columns) * size - 1, size - gap + 2, size - gap + 2);
}
