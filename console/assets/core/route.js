// Where the page is: what stands behind # in the URL, as a path and a query. It never leaves the browser, and works below any prefix.
import { store, useStore } from './store.js';

/** @typedef {{path: string[], query: URLSearchParams, text: string}} Route */

/** @returns {Route} */
function parse() {
  const text = location.hash.replace(/^#\/?/, '');
  const [path, ...rest] = text.split('?');
  return { path: path.split('/').filter(Boolean).map(decode), query: new URLSearchParams(rest.join('?')), text };
}

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

const current = store(parse());
addEventListener('hashchange', () => current.set(parse()));

export const useRoute = () => useStore(current);
export const route = () => current.get();

/**
 * The address of a place.
 * @param {string[]} path
 * @param {Record<string, any> | URLSearchParams} [query] entries that are empty are left out; lists stand several times
 */
export function href(path, query = {}) {
  const text = queryText(query);
  return '#/' + path.map(encodeURIComponent).join('/') + (text ? '?' + text : '');
}

/** @param {Record<string, any> | URLSearchParams} query */
export function queryText(query) {
  const q = query instanceof URLSearchParams ? query : new URLSearchParams();
  if (q !== query) {
    for (const [name, value] of Object.entries(query)) {
      for (const one of [value].flat()) {
        if (one !== undefined && one !== null && one !== '' && one !== false) q.append(name, String(one));
      }
    }
  }
  return q.toString();
}

export function go(path, query) {
  location.hash = href(path, query);
}

/** Goes to another query of the same place, without a step in the browser's history if replace is set. */
export function goQuery(query, replace = false) {
  const to = href(current.get().path, query);
  if (!replace) {
    location.hash = to;
    return;
  }
  history.replaceState(null, '', to);
  current.set(parse());
}

/** The namespace that the page is about. */
export const namespaceOf = (r) => r.query.get('namespace') || 'default';

/** The query that keeps the namespace. */
export const inSpace = (namespace) => (namespace === 'default' ? {} : { namespace });
