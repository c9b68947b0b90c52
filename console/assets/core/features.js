// What this cluster serves, by the document that it makes of its own routes. A page leaves out what an older node does not know.
import { useState, useEffect } from './html.js';
import { get } from './api.js';

let described = null;

const load = () => (described ??= get('openapi.json').catch((e) => {
  described = null;
  throw e;
}));

/** Whether there is a route; false as long as it is not known. @param {string} path as in the document */
export function useFeature(path) {
  const [known, setKnown] = useState(false);
  useEffect(() => {
    let gone = false;
    load().then((d) => { if (!gone) setKnown(path in d.paths); }, () => {});
    return () => { gone = true; };
  }, [path]);
  return known;
}
