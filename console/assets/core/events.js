// The events of the API (SPEC W3), read by fetch: an EventSource could not send the header that a cookie needs.
import { send, pause } from './api.js';

/**
 * Follows events until it is told to stop. It goes on where it was when a connection breaks, and rests while the tab is hidden.
 * @param {Record<string, any>} query
 * @param {(kind: string, data: any) => void} tell
 * @param {(state: 'live'|'away') => void} [state]
 * @returns {() => void} what ends it
 */
export function follow(query, tell, state = () => {}) {
  const end = new AbortController();
  run(query, tell, state, end.signal);
  return () => end.abort();
}

async function run(query, tell, state, signal) {
  let after = '';
  for (let failures = 0; !signal.aborted;) {
    const own = new AbortController();
    const stop = () => own.abort();
    const hide = () => { if (document.hidden) own.abort(); };
    signal.addEventListener('abort', stop);
    document.addEventListener('visibilitychange', hide);
    try {
      await seen(signal);
      const response = await send('GET', 'v1/events', {
        query, signal: own.signal, headers: { Accept: 'text/event-stream', ...(after ? { 'Last-Event-ID': after } : {}) },
      });
      failures = 0;
      state('live');
      await read(response.body, (kind, data, id) => {
        if (id !== '') after = id === '0' ? '' : id;
        if (!signal.aborted) tell(kind, data);
      });
    } catch {
      failures++;
    } finally {
      signal.removeEventListener('abort', stop);
      document.removeEventListener('visibilitychange', hide);
      own.abort();
    }
    if (signal.aborted) return;
    if (failures) state('away');
    await pause(Math.min(10e3, 250 * 2 ** Math.min(failures, 6)), signal);
  }
}

/** Resolves when the tab is seen. */
const seen = (signal) => new Promise((resolve) => {
  const look = () => {
    if (document.hidden && !signal.aborted) return;
    document.removeEventListener('visibilitychange', look);
    signal.removeEventListener('abort', look);
    resolve();
  };
  document.addEventListener('visibilitychange', look);
  signal.addEventListener('abort', look);
  look();
});

/** Reads Server-Sent Events from a stream of bytes. */
async function read(body, tell) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  let event = { kind: '', data: '', id: '' };
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split('\n');
    rest = lines.pop();
    for (const line of lines) {
      if (line === '') {
        if (event.kind) tell(event.kind, parsed(event.data), event.id);
        event = { kind: '', data: '', id: '' };
      } else if (line.startsWith('event: ')) event.kind = line.slice(7);
      else if (line.startsWith('data: ')) event.data += line.slice(6);
      else if (line.startsWith('id: ')) event.id = line.slice(4);
    }
  }
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
