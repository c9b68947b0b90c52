// The upload of a module: the cluster checks it whole, or changes nothing (SPEC B2).
import { html, useState } from '../core/html.js';
import { change } from '../core/api.js';
import { inSpace } from '../core/route.js';
import { Dialog, Failed, Short, size } from './ui.js';
import { isModule, noModule, readModule } from '../core/module.js';
import { cli, tell } from './ask.js';
import { Said } from './manifest.js';

const largest = 32 << 20;

/** The manifest that was written in place of the module's; undefined: none, or no JSON yet. */
function instead(text) {
  try {
    return text.trim() ? JSON.parse(text) : undefined;
  } catch {
    return undefined;
  }
}

/** @param {{namespace: string, close: (changed: boolean) => void}} props */
export function Upload({ namespace, close }) {
  const [file, setFile] = useState(null);
  const [name, setName] = useState('');
  const [manifest, setManifest] = useState('');
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const [module, setModule] = useState(null);
  const [said, setSaid] = useState(null); // what the file says of itself
  const choose = async (e) => {
    const chosen = e.target.files[0] || null;
    setFile(chosen);
    setSaid(null);
    setError(null);
    if (!chosen || chosen.size > largest) return;
    try {
      const read = readModule(await chosen.arrayBuffer());
      if (e.target.files[0] === chosen) setSaid({ ...read, parsed: read.manifest === undefined ? undefined : JSON.parse(read.manifest) });
    } catch (err) {
      if (e.target.files[0] === chosen) setError({ code: 'invalid', message: err instanceof SyntaxError ? 'The manifest in the module is not JSON: ' + err.message : err.message });
    }
  };
  const wrong = () => {
    if (!file) return 'Choose a file.';
    if (file.size > largest) return `A module has at most ${size(largest)}; this one has ${size(file.size)}.`;
    if (manifest.trim()) {
      try {
        JSON.parse(manifest);
      } catch (e) {
        return 'The manifest is not JSON: ' + e.message;
      }
    }
    return '';
  };
  const upload = async (e) => {
    e.preventDefault();
    const text = wrong();
    setError(text ? { code: 'invalid', message: text } : null);
    if (text) return;
    setBusy(true);
    try {
      const bytes = await file.arrayBuffer();
      if (!isModule(bytes)) throw Object.assign(new Error(noModule), { code: 'invalid' });
      const answer = await change('POST', 'v1/modules', { query: { ...inSpace(namespace), name: name.trim() || undefined, manifest: manifest.trim() || undefined }, body: bytes, media: 'application/wasm' });
      setModule(answer.module);
      tell('The module was checked, and its behaviors are active.');
    } catch (err) {
      setError(err);
    }
    setBusy(false);
  };
  if (module) {
    return html`<${Dialog} title="The module is active" close=${() => close(true)}><p>Digest <${Short} of=${module.digest} />, ${size(module.size)}.</p>
      <ul class="plain-list">${module.behaviors.map((b) => html`<li><strong>${b.name}</strong> <${Short} of=${b.version} /></li>`)}</ul>
      <div class="buttons"><button class="primary" onClick=${() => close(true)}>Done</button></div></${Dialog}>`;
  }
  return html`<${Dialog} title="Upload a module" close=${() => close(false)}><form class="form" onSubmit=${upload}>
    <p>The cluster checks imports, manifest, limits and signatures, compiles the module, and tries one instance. Anything wrong is said here, and changes nothing.</p>
    <label for="wasm">File</label><input id="wasm" type="file" accept=".wasm,application/wasm" required onChange=${choose} />
    ${said && html`<${Said} module=${said} manifest=${instead(manifest) ?? said.parsed} name=${name.trim()} />`}
    <label for="module-name">Name <span class="none">(of the behavior, where the module has no manifest)</span></label><input id="module-name" value=${name} onInput=${(e) => setName(e.target.value)} autocomplete="off" spellcheck="false" maxlength="128" />
    <details><summary>A manifest in place of the module's own</summary><label for="manifest">Manifest <span class="none">(JSON)</span></label><textarea id="manifest" rows="7" spellcheck="false" value=${manifest} onInput=${(e) => setManifest(e.target.value)}></textarea></details>
    ${error && html`<${Failed} error=${error} />`}
    <pre class="command">${cli(['push', file?.name || 'FILE.wasm', ...(name.trim() ? ['--name', name.trim()] : [])], { namespace })}</pre>
    <div class="buttons"><button type="button" onClick=${() => close(false)}>Do nothing</button><button class="primary" disabled=${busy}>${busy ? 'Checking…' : 'Upload'}</button></div>
  </form></${Dialog}>`;
}
