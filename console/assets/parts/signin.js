// Signing in, at the beginning or in the middle: the page behind it stays, and what was asked is asked again.
import { html, useState, useRef, useEffect } from '../core/html.js';
import { Dialog, Failed } from './ui.js';
import { onUnauthenticated } from '../core/api.js';
import { askMe, beginAt, finishAt, issuers, me, signInWith } from '../core/me.js';
import { store, useStore } from '../core/store.js';

/** Who waits for somebody to sign in: {problem, waiting: [resolve], again}. */
const asked = store(null);

onUnauthenticated((problem) => new Promise((resolve) => {
  const a = asked.get();
  if (a) a.waiting.push(resolve);
  else asked.set({ problem, waiting: [resolve], again: me.get().state === 'signed' });
}));

export function SignIn() {
  const a = useStore(asked);
  const field = useRef();
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const [places, setPlaces] = useState([]);
  useEffect(() => {
    if (!a) return;
    field.current?.focus();
    issuers().then(setPlaces);
  }, [a]);
  if (!a) return null;
  const signedIn = async () => {
    asked.set(null);
    for (const resolve of a.waiting) resolve();
    if (a.again) await askMe();
  };
  const submit = async (e) => {
    e.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await signInWith(field.current.value.trim());
      field.current.value = '';
      await signedIn();
    } catch (err) {
      setError(err);
      field.current?.select();
    }
    setBusy(false);
  };
  return html`<${Dialog} title=${a.again ? 'Sign in again' : 'Sign in to the cluster'} fixed close=${() => {}}>
    <form class="sign-in" onSubmit=${submit}>
      <p>${a.again ? 'Your token does not hold any more: it has expired, or was revoked. What you were doing stays, and goes on when you have signed in.' : `This cluster asks who you are.${places.length ? '' : ' Paste a token: whoever runs the cluster makes one by this command.'}`}</p>
      ${places.map((name) => html`<${ByIssuer} key=${name} name=${name} done=${signedIn} />`)}
      ${places.length > 0 && !a.again && html`<p>Or paste a token: whoever runs the cluster makes one by this command.</p>`}
      ${!a.again && html`<pre class="command">taskrt token create NAME --role read</pre>`}
      <label for="token">Token</label>
      <input id="token" ref=${field} type="password" required autocomplete="current-password" spellcheck="false" placeholder="trt_…" maxlength="256" />
      ${error && (error.status === 401 ? html`<p class="field-error" role="alert">The cluster knows no such token, or it does not hold any more.</p>` : html`<${Failed} error=${error} />`)}
      <div class="buttons"><button class="primary" disabled=${busy}>Sign in</button></div>
      <p class="note">The token is kept in a cookie that no script can read, until the browser is closed or you sign out.</p>
    </form>
  </${Dialog}>`;
}

/** The sign-in at an issuer of OpenID Connect: the person confirms a code there, and the page waits (SPEC A7). */
function ByIssuer({ name, done }) {
  const [begun, setBegun] = useState(null);
  const [error, setError] = useState(null);
  const waits = useRef(null);
  useEffect(() => () => waits.current?.abort(), []);
  const begin = async () => {
    const mine = new AbortController();
    waits.current?.abort();
    waits.current = mine;
    setError(null);
    try {
      const at = await beginAt(name);
      if (mine.signal.aborted) return;
      setBegun(at);
      if (await finishAt(name, at, mine.signal)) await done();
    } catch (err) {
      if (!mine.signal.aborted) setError(err);
    }
    if (!mine.signal.aborted) setBegun(null);
  };
  const stop = () => {
    waits.current?.abort();
    setBegun(null);
  };
  return html`<div class="issuer">${!begun && html`<button type="button" class="primary" onClick=${begin}>Sign in with <bdi>${name}</bdi></button>`}
    ${begun && html`<p role="status">Open <a href=${begun.url} target="_blank" rel="noopener noreferrer">the page of <bdi>${name}</bdi></a>, and confirm there the code <strong class="user-code">${begun.code}</strong>. This page goes on by itself.</p>
      <button type="button" onClick=${stop}>Stop waiting</button>`}
    ${error && html`<${Failed} error=${error} />`}</div>`;
}
