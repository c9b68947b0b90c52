// Small parts that all pages use.
import { html, useState, useRef, useEffect, useLayoutEffect } from '../core/html.js';
import { useTick, ago, exact, stamp } from '../core/clock.js';
import { Text } from './text.js';

/** What a task is doing, as a word and a colour. */
export function statusOf(t) {
  if (t.status === 'FAILURE') return t.final ? 'DEAD' : 'RETRYING';
  if (t.status === 'SUCCESS' && !t.final) return 'REPEATING';
  return t.status;
}

const words = {
  CREATED: 'waiting', RUNNING: 'running', SUCCESS: 'success', FAILURE: 'failure', DEAD: 'dead', RETRYING: 'retrying', REPEATING: 'repeats', COMPLETING: 'completing', WAITING: 'waiting', SELECTING: 'selecting', CANCELLED: 'ended',
};

export function Badge({ status, title }) {
  return html`<span class="badge s-${status.toLowerCase()}" title=${title}><span class="dot" aria-hidden="true"></span>${words[status] || status.toLowerCase().replace(/_/g, ' ')}</span>`;
}

/** A time, as how long ago it was; the exact one is its title. */
export function When({ time, none = '' }) {
  const at = useTick();
  if (!time) return html`<span class="none">${none}</span>`;
  return html`<time datetime=${time} title=${exact(time)}>${ago(time, at)}</time>`;
}

/** A time as a clock shows it. */
export const Stamp = ({ time }) => (time ? html`<time datetime=${time} title=${exact(time)}>${stamp(time)}</time>` : '');

export function Head({ title, sub, children }) {
  useEffect(() => { document.title = (typeof title === 'string' ? title + ' · ' : '') + 'taskrt'; }, [title]);
  return html`<header class="head"><div class="head-text"><h1 tabindex="-1">${title}</h1>${sub && html`<p class="sub">${sub}</p>`}</div><div class="head-actions">${children}</div></header>`;
}

/** An error of the API, in words that say what to do. */
export function Failed({ error, retry }) {
  if (!error) return null;
  const [title, hint] = explain(error);
  return html`<div class="failed" role="alert"><strong>${title}</strong><p><${Text} of=${error.message} /></p>${hint && html`<p class="hint">${hint}</p>`}
    <p class="code">${error.code}</p>${retry && html`<button onClick=${retry}>Try again</button>`}</div>`;
}

function explain(e) {
  switch (e.code) {
    case 'offline': return ['No connection', 'The page goes on by itself when the server answers again.'];
    case 'no_leader': return ['The cluster has no leader', 'A majority of the nodes must be there. Nothing is lost, and nothing changes meanwhile.'];
    case 'not_ready': return ['This node is not ready', 'It starts, stops, or is behind. Another node may answer.'];
    case 'forbidden': return ['Not allowed', 'Your token lacks a role. See "Your token" below the menu.'];
    case 'namespace_not_found': return ['There is no such namespace, or your token has no role in it', 'Choose another one above.'];
    case 'overloaded': case 'rate_limited': return ['Too much at a time', 'The server asks to wait a little.'];
  }
  return [e.status === 404 ? 'Not there' : 'The server refused it', ''];
}

/** What a table shows where there is nothing. */
export const Empty = ({ title, children }) => html`<div class="empty"><h2>${title}</h2>${children}</div>`;

export const Loading = () => html`<p class="loading" role="status">Loading…</p>`;

/** Copies a text. */
export function Copy({ text, label = 'Copy' }) {
  const [done, setDone] = useState('');
  useEffect(() => {
    if (!done) return undefined;
    const timer = setTimeout(() => setDone(''), 1500);
    return () => clearTimeout(timer);
  }, [done]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setDone('Copied');
    } catch {
      setDone('Select it, and copy by keyboard');
    }
  };
  return html`<button type="button" class="quiet copy" onClick=${copy} aria-live="polite">${done || label}</button>`;
}

/** A box above the page. The browser keeps the focus inside, and gives it back. */
export function Dialog({ title, close, children, fixed = false, wide = false }) {
  const box = useRef();
  const from = useRef(document.activeElement);
  useLayoutEffect(() => {
    const d = box.current;
    d.showModal();
    return () => {
      d.close();
      if (from.current?.isConnected) from.current.focus();
    };
  }, []);
  const cancel = (e) => {
    e.preventDefault();
    if (!fixed) close();
  };
  return html`<dialog ref=${box} class=${wide ? 'wide' : ''} aria-labelledby="dialog-title" onCancel=${cancel}>
    <h2 id="dialog-title">${title}</h2>${children}</dialog>`;
}

/** Figures with names. */
export const Facts = ({ of }) => html`<dl class="facts">${of.filter(Boolean).map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;

/** The beginning of a digest; the whole is its title. */
export const Short = ({ of, n = 12 }) => (of ? html`<code class="short" title=${of}>${of.replace(/^sha256:/, '').slice(0, n)}</code>` : '');

export function size(bytes) {
  const names = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let i = 0;
  while (bytes >= 1024 && i < names.length - 1) {
    bytes /= 1024;
    i++;
  }
  return (i && bytes < 10 ? bytes.toFixed(1) : Math.round(bytes)) + ' ' + names[i];
}

export const count = (n) => (n === undefined || n === null ? '' : Number(n).toLocaleString('en-US').replace(/,/g, '\u202f'));

/** A number of many digits in a few: 1.4 M. */
export function brief(n) {
  for (const [at, name] of [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e4, 'k']]) {
    if (n >= at) return (n / (name === 'k' ? 1e3 : at)).toPrecision(3).replace(/\.?0+$/, '') + ' ' + name;
  }
  return count(n);
}
