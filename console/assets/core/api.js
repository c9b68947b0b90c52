// Requests to the API. Each is relative to the page, so the console works below a prefix.
import { learn } from './clock.js';
import { store } from './store.js';

/** An answer that is an error (RFC 9457), or none at all: then code is `offline`. */
export class Problem extends Error {
  constructor(fields, status) {
    super(fields.detail || fields.title || fields.code);
    this.code = fields.code || 'unknown';
    this.status = status;
    this.field = fields.field;
    this.retryMS = fields.retry_after_ms || 0;
    this.fields = fields;
  }
}

/** How the page reaches the cluster: {ok, since, problem}. */
export const connection = store({ ok: true, problem: null });
/** The index of the log that the last answer was of. */
export const index = store(0);

let signIn = null;

/** Sets what is asked, once for all requests that wait, when somebody must sign in. It returns a promise. */
export function onUnauthenticated(ask) {
  signIn = ask;
}

const base = () => new URL('./', document.baseURI.split('#')[0]).href;

/** The URL of this cluster, for commands that people copy. */
export const server = () => base().replace(/\/$/, '');

/** @param {string} path relative, without a slash at the beginning @param {URLSearchParams|Record<string,any>} [query] */
export function address(path, query) {
  const url = new URL(path, base());
  for (const [name, value] of query instanceof URLSearchParams ? query : Object.entries(query || {})) {
    for (const one of [value].flat()) if (one !== undefined && one !== null && one !== '') url.searchParams.append(name, one);
  }
  return url;
}

/** One request, with the header that a cookie needs. An answer 401 asks to sign in, and the request is made again after it. */
export async function send(method, path, { query, body, headers = {}, signal, media } = {}) {
  for (let tries = 0; ; tries++) {
    let response;
    try {
      response = await fetch(address(path, query), {
        method, signal, credentials: 'same-origin', cache: 'no-store', redirect: 'error', body,
        headers: { 'Taskrt-Console': '1', Accept: 'application/json', ...(body === undefined ? {} : { 'Content-Type': media || 'application/json' }), ...headers },
      });
    } catch (e) {
      if (e.name === 'AbortError') throw e;
      const p = new Problem({ code: 'offline', detail: 'The server cannot be reached.' }, 0);
      connection.set({ ok: false, problem: p });
      throw p;
    }
    learn(response);
    if (response.ok) {
      if (!connection.get().ok) connection.set({ ok: true, problem: null });
      const at = Number(response.headers.get('Taskrt-Index'));
      if (at) index.set(at);
      return response;
    }
    const p = await problemOf(response);
    if (p.status === 401 && signIn && tries < 5) {
      await signIn(p);
      continue;
    }
    connection.set(p.status >= 502 || p.code === 'no_leader' || p.code === 'not_ready' ? { ok: false, problem: p } : { ok: true, problem: null });
    throw p;
  }
}

async function problemOf(response) {
  const text = await response.text();
  try {
    return new Problem(JSON.parse(text), response.status);
  } catch {
    return new Problem({ code: 'http_' + response.status, detail: text.slice(0, 300) || response.statusText }, response.status);
  }
}

/** Reads JSON. Numbers that a double does not carry stay as they were written, where the browser can. */
export async function get(path, query, { signal, exact = false } = {}) {
  const response = await send('GET', path, { query, signal });
  return exact ? JSON.parse(await response.text(), written) : response.json();
}

function written(_, value, context) {
  if (typeof value === 'number' && context?.source && JSON.rawJSON && !Number.isSafeInteger(value) && String(value) !== context.source) {
    return JSON.rawJSON(context.source);
  }
  return value;
}

/** Changes something. One key goes with all tries, so it happens once, however often it is sent (SPEC H4). */
export async function change(method, path, { query, body, media } = {}) {
  const headers = { 'Idempotency-Key': drawKey() };
  const text = body === undefined || media ? body : JSON.stringify(body);
  for (let tries = 1; ; tries++) {
    try {
      const response = await send(method, path, { query, body: text, media, headers });
      return response.status === 204 ? null : await response.json();
    } catch (e) {
      const passing = e.code === 'offline' || e.code === 'no_leader' || e.code === 'not_ready' || e.code === 'outcome_unknown';
      if (!passing || tries === 6) throw e;
      await pause(Math.min(4000, e.retryMS || 300 * 2 ** tries));
    }
  }
}

/** A text that nobody else draws. crypto.randomUUID is not there on plain http. */
export function drawKey() {
  return 'console-' + [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, '0')).join('');
}

/** @param {AbortSignal} [signal] */
export const pause = (ms, signal) => new Promise((resolve) => {
  const timer = setTimeout(resolve, ms);
  signal?.addEventListener('abort', () => { clearTimeout(timer); resolve(); }, { once: true });
});
