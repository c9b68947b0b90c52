// Every change asks first, and shows the commands that would do the same.
import { html, useState } from '../core/html.js';
import { address, change, server } from '../core/api.js';
import { useMe } from '../core/me.js';
import { store, useStore } from '../core/store.js';
import { Copy, Dialog, Failed } from './ui.js';

/** A word for the shell. */
export const word = (text) => (/^[A-Za-z0-9_./:=@%+,-]+$/.test(text) ? text : "'" + String(text).replace(/'/g, `'\\''`) + "'");

/** The command of taskrt: where the server is, and which namespace, stands only where it is not the default. */
export function cli(words, { namespace } = {}) {
  const more = [];
  if (namespace && namespace !== 'default') more.push('--namespace', namespace);
  if (server() !== 'http://127.0.0.1:7070') more.push('--server', server());
  return ['taskrt', ...words, ...more].map(word).join(' ');
}

/** The same request by curl. */
export function curl({ method, path, query, body, open }) {
  const parts = ['curl'];
  if (method !== 'GET') parts.push('-X', method);
  parts.push(word(address(path, query).href));
  if (!open) parts.push('-H', '"Authorization: Bearer $TASKRT_TOKEN"');
  if (body !== undefined && method !== 'GET') parts.push('-H', "'Content-Type: application/json'", '-d', word(JSON.stringify(body)));
  return parts.join(' ');
}

/** What was done last, for everybody to hear. */
const note = store('');
export const Note = () => {
  const text = useStore(note);
  return html`<div class="toast" role="status">${text && html`<p>${text} <button class="quiet" aria-label="Close the message" onClick=${() => note.set('')}>×</button></p>`}</div>`;
};

let fading = null;
export function tell(text) {
  note.set(text);
  clearTimeout(fading);
  fading = setTimeout(() => note.set(''), 8000);
}

/** The commands, to copy. */
export function Commands({ request, command }) {
  const { state } = useMe();
  const lines = [command, curl({ ...request, open: state === 'open' })].filter(Boolean);
  return html`<details class="commands"><summary>As a command</summary>${lines.map((text) => html`<div class="command-row"><pre class="command" tabindex="0">${text}</pre><${Copy} text=${text} /></div>`)}</details>`;
}

/**
 * Asks, and does it.
 * @param {{title: string, verb: string, danger?: boolean, request: {method: string, path: string, query?: any, body?: any}, command?: string, done: string, close: (changed: boolean, answer?: any) => void, children: any, check?: () => string}} props
 */
export function Ask({ title, verb, danger, request, command, done, close, children, check, wide }) {
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const run = async (e) => {
    e.preventDefault();
    const wrong = check?.();
    if (wrong) {
      setError({ code: 'invalid', message: wrong });
      return;
    }
    setBusy(true);
    setError(null);
    try {
      const answer = await change(request.method, request.path, { query: request.query, body: request.body });
      tell(done);
      close(true, answer);
    } catch (err) {
      setError(err);
      setBusy(false);
    }
  };
  return html`<${Dialog} title=${title} wide=${wide} close=${() => close(false)}><form class="form" onSubmit=${run}>
    ${children}
    ${error && html`<${Failed} error=${error} />`}
    <${Commands} request=${request} command=${command} />
    <div class="buttons"><button type="button" onClick=${() => close(false)}>Do nothing</button><button class=${danger ? 'danger' : 'primary'} disabled=${busy} autofocus>${busy ? 'Working…' : verb}</button></div>
  </form></${Dialog}>`;
}
