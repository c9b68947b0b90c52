// A value that several parts of the page look at.
import { useState, useEffect } from './html.js';

/** @template T @param {T} value */
export function store(value) {
  const listeners = new Set();
  return {
    get: () => value,
    set(next) {
      if (next === value) return;
      value = next;
      for (const tell of [...listeners]) tell(value);
    },
    /** @returns {() => void} what ends it */
    listen(tell) {
      listeners.add(tell);
      return () => listeners.delete(tell);
    },
  };
}

/** The value of a store in a component, which is drawn anew when it changes. */
export function useStore(s) {
  const [value, setValue] = useState(s.get());
  useEffect(() => {
    setValue(s.get());
    return s.listen((v) => setValue(v));
  }, [s]);
  return value;
}

/** Text that this browser keeps; a browser that keeps nothing is fine, too. */
export const kept = {
  get(name) {
    try {
      return localStorage.getItem('taskrt.' + name);
    } catch {
      return null;
    }
  },
  set(name, text) {
    try {
      if (text === null) localStorage.removeItem('taskrt.' + name);
      else localStorage.setItem('taskrt.' + name, text);
    } catch {
      // Full or forbidden: the page works without.
    }
  },
};
