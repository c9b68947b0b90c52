// Who looks at the page, and what they may do (SPEC A5). The server decides; the page only leaves out what it would refuse.
import { get, send, Problem } from './api.js';
import { store, useStore } from './store.js';

/** {state: 'asking'|'open'|'signed', token} */
export const me = store({ state: 'asking', token: null });

export async function askMe() {
  const open = document.querySelector('meta[name="taskrt-access"]').content === 'open'; // the server says so: it has no tokens to ask for
  me.set(open ? { state: 'open', token: null } : { state: 'signed', token: await get('v1/self') });
}

/** Exchanges a token for a cookie that scripts cannot read. */
export async function signInWith(token) {
  const response = await fetch(new URL('session', document.baseURI.split('#')[0]), {
    method: 'POST', credentials: 'same-origin', headers: { 'Taskrt-Console': '1', 'Content-Type': 'application/json' }, body: JSON.stringify({ token }),
  });
  if (response.ok) return;
  let fields = { detail: 'The server refused it.' };
  try {
    fields = await response.json();
  } catch {
    // What a proxy says is no JSON.
  }
  throw new Problem(fields, response.status);
}

export async function signOut() {
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
