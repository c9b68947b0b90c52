// Who looks at the page, and what they may do (SPEC A5). The server decides; the page only leaves out what it would refuse.
import { get, pause, send, Problem } from './api.js';
import { store, useStore } from './store.js';

/** {state: 'asking'|'open'|'signed', token} */
export const me = store({ state: 'asking', token: null });

export async function askMe() {
  const open = document.querySelector('meta[name="taskrt-access"]').content === 'open'; // the server says so: it has no tokens to ask for
  me.set(open ? { state: 'open', token: null } : { state: 'signed', token: await get('v1/self') });
}

/** A sign-in: what the server answers to it. */
async function session(body) {
  const response = await fetch(new URL('session', document.baseURI.split('#')[0]), {
    method: 'POST', credentials: 'same-origin', headers: { 'Taskrt-Console': '1', 'Content-Type': 'application/json' }, body: JSON.stringify(body),
  });
  if (response.ok) return response;
  let fields = { detail: 'The server refused it.' };
  try {
    fields = await response.json();
  } catch {
    // What a proxy says is no JSON.
  }
  throw new Problem(fields, response.status);
}

/** Exchanges a token for a cookie that scripts cannot read. */
export const signInWith = (token) => session({ token });

/** The names of the issuers of OpenID Connect at which one may sign in. */
export async function issuers() {
  try {
    const response = await fetch(new URL('v1/sign-in', document.baseURI.split('#')[0]), { headers: { Accept: 'application/json' } });
    return response.ok ? (await response.json()).places.map((p) => p.name) : [];
  } catch {
    return [];
  }
}

/** Begins a sign-in at an issuer: where to confirm which code, and for how long. */
export const beginAt = async (issuer) => (await session({ issuer })).json();

/** Waits until the code was confirmed. The session's token is then in the cookie, and was never in this page. */
export async function finishAt(issuer, begun, signal) {
  const until = Date.now() + begun.until_ms;
  for (let every = begun.every_ms; Date.now() < until; ) {
    await pause(every, signal);
    if (signal.aborted) return false;
    try {
      if ((await session({ issuer, device: begun.device })).status === 204) return !signal.aborted;
    } catch (e) {
      if (e.code !== 'rate_limited') throw e;
      every += 5000; // as RFC 8628 wants it
    }
  }
  throw new Problem({ code: 'sign_in_refused', detail: 'Nobody has confirmed the code in time.' }, 401);
}

export async function signOut() {
  if (me.get().token?.subject) await send('DELETE', 'v1/self'); // a session that an issuer vouched for ends, too
  await send('DELETE', 'session');
  me.set({ state: 'asking', token: null });
}

const fits = (patterns, name) => patterns.some((p) => (p.endsWith('*') ? name.startsWith(p.slice(0, -1)) : p === name));
const all = (patterns) => patterns.includes('*');

/**
 * Whether the token has one of the roles.
 * @param {string|string[]} roles
 * @param {{namespace?: string, behavior?: string, everywhere?: boolean}} [where] nothing: anywhere
 */
export function may(who, roles, where = {}) {
  if (who.state === 'open') return true;
  if (!who.token || ![roles].flat().some((r) => who.token.roles.includes(r))) return false;
  const { namespaces, behaviors } = who.token;
  if (where.everywhere) return all(namespaces) && all(behaviors);
  return (!where.namespace || fits(namespaces, where.namespace)) && (!where.behavior || fits(behaviors, where.behavior));
}

export const useMe = () => useStore(me);
