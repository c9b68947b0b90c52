// Saved views: queries under a name, kept by this browser.
import { html, useState } from '../core/html.js';
import { kept } from '../core/store.js';
import { Dialog } from './ui.js';

const most = 50;

function read() {
  try {
    const list = JSON.parse(kept.get('views') || '[]');
    return Array.isArray(list) ? list.filter((v) => typeof v?.name === 'string' && typeof v?.query === 'string').slice(0, most) : [];
  } catch {
    return [];
  }
}

/** Views that everybody needs. */
const builtin = [
  { name: 'Failed, and given up', query: 'status=DEAD' }, { name: 'Failing, will be retried', query: 'status=RETRYING' }, { name: 'Running now', query: 'status=RUNNING' },
];

/** @param {{query: URLSearchParams, open: (q: URLSearchParams) => void}} props */
export function Views({ query, open }) {
  const [views, setViews] = useState(read());
  const [saving, setSaving] = useState(false);
  const plain = new URLSearchParams(query);
  plain.delete('cursor');
  plain.delete('namespace');
  plain.sort();
  const text = plain.toString();
  const all = [...builtin, ...views];
  const current = all.find((v) => v.query === text);
  const keep = (list) => {
    kept.set('views', JSON.stringify(list));
    setViews(list);
  };
  const choose = (e) => {
    const v = all.find((one) => one.name === e.target.value);
    const q = new URLSearchParams(v ? v.query : '');
    if (query.has('namespace')) q.set('namespace', query.get('namespace'));
    open(q);
  };
  const save = (e) => {
    e.preventDefault();
    const name = new FormData(e.target).get('name').trim().slice(0, 80);
    if (name) keep([...views.filter((v) => v.name !== name), { name, query: text }].slice(-most));
    setSaving(false);
  };
  return html`<div class="views"><label>View <select value=${current?.name || ''} onChange=${choose}>
      <option value="" selected=${!current}>${text && !current ? 'this query' : 'all tasks'}</option>
      ${all.map((v) => html`<option value=${v.name} selected=${v === current}>${v.name}</option>`)}</select></label>
    ${text && !current && html`<button type="button" class="quiet" onClick=${() => setSaving(true)}>Save view</button>`}
    ${current && views.includes(current) && html`<button type="button" class="quiet" onClick=${() => keep(views.filter((v) => v !== current))}>Forget view</button>`}
    ${saving && html`<${Dialog} title="Save this query as a view" close=${() => setSaving(false)}><form onSubmit=${save}>
      <label for="view-name">Name</label><input id="view-name" name="name" required maxlength="80" autocomplete="off" />
      <p class="note">This browser keeps it. To share it, share the address of the page.</p>
      <div class="buttons"><button type="button" onClick=${() => setSaving(false)}>Cancel</button><button class="primary">Save</button></div></form></${Dialog}>`}
  </div>`;
}
