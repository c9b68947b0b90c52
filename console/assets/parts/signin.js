// Signing in, at the beginning or in the middle: the page behind it stays, and what was asked is asked again.
import { html, useState, useRef, useEffect } from '../core/html.js';
import { Dialog, Failed } from './ui.js';
import { onUnauthenticated } from '../core/api.js';
import { signInWith, askMe, me } from '../core/me.js';
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
  useEffect(() => { if (a) field.current?.focus(); }, [a]);
  if (!a) return null;
  const submit = async (e) => {
    e.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await signInWith(field.current.value.trim());
      field.current.value = '';
      asked.set(null);
      for (const resolve of a.waiting) resolve();
      if (a.again) await askMe();
    } catch (err) {
      setError(err);
      field.current?.select();
    }
    setBusy(false);
  };
  return html`<${Dialog} title=${a.again ? 'Sign in again' : 'Sign in to the cluster'} fixed close=${() => {}}>
    <form class="sign-in" onSubmit=${submit}>
      <p>${a.again ? 'Your token does not hold any more: it has expired, or was revoked. What you were doing stays, and goes on when you have signed in.' : 'This cluster asks who you are. Paste a token: whoever runs the cluster makes one by this command.'}</p>
      ${!a.again && html`<pre class="command">taskrt token create NAME --role read</pre>`}
      <label for="token">Token</label>
      <input id="token" ref=${field} type="password" required autocomplete="current-password" spellcheck="false" placeholder="trt_…" maxlength="256" />
      ${error && (error.status === 401 ? html`<p class="field-error" role="alert">The cluster knows no such token, or it does not hold any more.</p>` : html`<${Failed} error=${error} />`)}
      <div class="buttons"><button class="primary" disabled=${busy}>Sign in</button></div>
      <p class="note">The token is kept in a cookie that no script can read, until the browser is closed or you sign out.</p>
    </form>
  </${Dialog}>`;
}
