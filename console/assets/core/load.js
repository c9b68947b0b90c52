// Data of the API in a component: loaded, loaded again, and dropped when the component goes.
import { useState, useEffect, useRef, useCallback } from './html.js';
import { get } from './api.js';

/**
 * Loads a path, again when it or the query changes, and every `every` ms while the tab is seen. What was loaded stays while it is loaded anew.
 * @returns {{data: any, error: any, loading: boolean, reload: () => Promise<void>}}
 */
export function useLoad(path, query = {}, { every = 0, exact = false, skip = false } = {}) {
  const name = path + '?' + new URLSearchParams(Object.entries(query).flatMap(([k, v]) => [v].flat().map((one) => [k, one ?? '']))).toString();
  const [state, setState] = useState({ name: '', data: null, error: null, loading: true });
  const running = useRef(null);

  const reload = useCallback(async () => {
    running.current?.abort();
    if (skip) return;
    const mine = new AbortController();
    running.current = mine;
    setState((s) => (s.name === name ? { ...s, loading: true } : { name, data: null, error: null, loading: true }));
    try {
      const data = await get(path, query, { signal: mine.signal, exact });
      if (!mine.signal.aborted) setState({ name, data, error: null, loading: false });
    } catch (error) {
      if (!mine.signal.aborted && error.name !== 'AbortError') setState((s) => ({ ...s, name, error, loading: false }));
    }
  }, [name, skip, exact]);

  useEffect(() => {
    reload();
    return () => running.current?.abort();
  }, [reload]);
  useEvery(reload, skip ? 0 : every);
  return { ...state, reload };
}

/** Calls something every so many ms while the tab is seen, and once when it is seen again, or at once; never while the former call is under way. */
export function useEvery(call, ms, atOnce = false) {
  useEffect(() => {
    if (!ms) return undefined;
    let busy = false;
    let ended = false;
    const run = async () => {
      if (busy || ended || document.hidden) return;
      busy = true;
      try {
        await call();
      } finally {
        busy = false;
      }
    };
    const timer = setInterval(run, ms);
    document.addEventListener('visibilitychange', run);
    if (atOnce) run();
    return () => {
      ended = true;
      clearInterval(timer);
      document.removeEventListener('visibilitychange', run);
    };
  }, [call, ms, atOnce]);
}
