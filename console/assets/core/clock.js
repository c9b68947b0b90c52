// Times as the server sees them: a browser's clock may be wrong by hours, and ages are counted from what the server says.
import { store, useStore } from './store.js';
import { useEffect } from './html.js';

let offset = 0; // the server's clock minus ours, ms
const ticks = store(0);
let watchers = 0;
let timer = null;

/** Learns from an answer. The header has whole seconds, so what differs less is no difference. */
export function learn(response) {
  const said = Date.parse(response.headers.get('Date') || '');
  if (!said) return;
  const seen = said + 500 - Date.now();
  if (Math.abs(seen) < 2000) offset = 0;
  else if (Math.abs(seen - offset) > 1500) offset = seen;
}

export const now = () => Date.now() + offset;
export const clockOffset = () => offset;

/** Draws a component anew each second, as long as it is there and the tab is seen. */
export function useTick() {
  useEffect(() => {
    watchers++;
    if (!timer) timer = setInterval(() => { if (!document.hidden) ticks.set(ticks.get() + 1); }, 1000);
    return () => {
      watchers--;
      if (!watchers) {
        clearInterval(timer);
        timer = null;
      }
    };
  }, []);
  useStore(ticks);
  return now();
}

const units = [[86400e3, 'd'], [3600e3, 'h'], [60e3, 'min'], [1e3, 's']];

/** A length of time in two units at most: 3 d 4 h, 12 s, 31 ms. */
export function length(ms) {
  if (!Number.isFinite(ms)) return '';
  const sign = ms < 0 ? '−' : '';
  ms = Math.abs(ms);
  if (ms < 1000) return sign + Math.round(ms) + ' ms';
  if (ms < 10e3) return sign + (ms / 1000).toFixed(1).replace(/\.0$/, '') + ' s';
  for (let i = 0; i < units.length; i++) {
    const [size, name] = units[i];
    if (ms < size) continue;
    const whole = Math.floor(ms / size);
    const next = units[i + 1];
    const rest = next && whole < 10 ? Math.floor((ms % size) / next[0]) : 0;
    return sign + whole + ' ' + name + (rest ? ' ' + rest + ' ' + next[1] : '');
  }
  return sign + '0 s';
}

/** How long ago, or in how long. */
export function ago(time, at = now()) {
  const ms = at - Date.parse(time);
  if (Math.abs(ms) < 1500) return 'now';
  return ms > 0 ? length(ms - (ms % 1000)) + ' ago' : 'in ' + length(-ms);
}

const full = new Intl.DateTimeFormat(undefined, {
  year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', second: '2-digit', fractionalSecondDigits: 3, timeZoneName: 'short',
});
const short = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit' });

export const exact = (time) => (time ? full.format(new Date(time)) : '');
export const stamp = (time) => (time ? short.format(new Date(time)) : '');
