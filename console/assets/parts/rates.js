// How many tasks of a behavior are submitted, succeed and fail in a second, while the page is open. Each sample counts what has happened since the
// one before, of the whole cluster; what is older than the picture is forgotten.
import { html, useCallback, useRef, useState } from '../core/html.js';
import { get } from '../core/api.js';
import { now } from '../core/clock.js';
import { useEvery } from '../core/load.js';
import { inSpace } from '../core/route.js';
import { count } from './ui.js';

const every = 5e3;
const settled = 3e3; // what is younger may not have reached the node that answers
const first = 30e3; // what the first sample looks back, and one after a time in which nobody looked
const narrow = 2 * 60e3; // the picture has at least so much time, and at most:
const shown = 15 * 60e3;
const most = shown / every + 1;

const lines = [
  ['submitted', 'made', { of: 'created' }],
  ['succeed', 'good', { of: 'finished', status: 'SUCCESS' }],
  ['fail', 'bad', { of: 'finished', status: 'FAILURE' }],
];

/** Counts what has happened from one time to another. */
async function sample(namespace, behavior, from, to) {
  const counted = await Promise.all(lines.map(([, , { of, status }]) => get('v1/tasks', {
    ...inSpace(namespace), behavior, status, [of + '_from']: new Date(from).toISOString(), [of + '_to']: new Date(to).toISOString(), count: 'true', limit: 1, fields: 'id',
  })));
  return { from, to, more: counted.some((a) => a.count_more), rates: counted.map((a) => (a.count * 1000) / (to - from)) };
}

/** @param {{namespace: string, behavior: string}} props */
export function Rates({ namespace, behavior }) {
  const [list, setList] = useState([]);
  const last = useRef(0);
  const look = useCallback(async () => {
    const to = now() - settled;
    const since = to - last.current;
    if (Math.abs(since) < 2 * first && since < every / 2) return; // the clock was learnt anew just now: no time is counted twice
    const from = since > 2 * first || since < 0 ? to - first : last.current;
    try {
      const one = await sample(namespace, behavior, from, to);
      last.current = to;
      setList((all) => [...all, one].slice(-most).filter((s) => s.to > to - shown));
    } catch {
      // The next sample counts this time, too.
    }
  }, [namespace, behavior]);
  useEvery(look, every, true);
  const latest = list.at(-1);
  if (!latest) return html`<p class="none">The first sample comes in a few seconds.</p>`;
  return html`<figure class="rates"><${Picture} list=${list} />
    <figcaption><ul class="legend">${lines.map(([name, style], i) => html`<li class=${style}><span class="stroke" aria-hidden="true"></span><b>${number(latest.rates[i])}</b> ${name}</li>`)}</ul>
    <span class="note">in a second${latest.more ? ', or more' : ''}; sampled while this page is open, for the last ${shown / 60e3} minutes.</span></figcaption></figure>`;
}

const width = 600;
const height = 110;

function Picture({ list }) {
  const end = list.at(-1).to;
  const top = Math.max(0.2, ...list.flatMap((s) => s.rates));
  const span = Math.min(shown, Math.max(narrow, end - list[0].from));
  const x = (time) => width - ((end - time) / span) * width;
  const y = (rate) => height - 2 - (rate / top) * (height - 16);
  const label = `Rates of ${list.length} samples; the highest is ${number(top)} in a second. ` + lines.map(([name], i) => `${name}: ${number(list.at(-1).rates[i])}`).join(', ');
  return html`<div class="plot"><svg viewBox="0 0 ${width} ${height}" preserveAspectRatio="none" role="img" aria-label=${label}>
    <line x1="0" x2=${width} y1=${y(top)} y2=${y(top)} class="grid" /><line x1="0" x2=${width} y1=${y(0)} y2=${y(0)} class="grid" />
    ${lines.map(([, style], i) => html`<path class="line ${style}" d=${path(list, i, x, y)} />`)}</svg><span class="mark-y" aria-hidden="true">${number(top)}/s</span></div>`;
}

/** Steps, one for each sample; a line does not go on over a time in which nobody looked. */
const path = (list, i, x, y) => list.map((s, at) => {
  const on = at > 0 && list[at - 1].to === s.from;
  return `${on ? 'L' : 'M'}${x(s.from).toFixed(1)} ${y(s.rates[i]).toFixed(1)}H${x(s.to).toFixed(1)}`;
}).join('');

/** A rate in few digits. */
const number = (n) => (n >= 100 ? count(Math.round(n)) : n >= 10 ? n.toFixed(0) : n === 0 ? '0' : n >= 0.1 ? n.toFixed(1) : '<0.1');
