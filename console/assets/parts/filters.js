// The query of a list of tasks (SPEC Q1): it is the query of the page's address, under the API's names.
import { html, useState, useEffect } from '../core/html.js';
import { useLoad } from '../core/load.js';
import { Text } from './text.js';

/** The filters, with what people call them. Those that are lists may be given several times. */
export const filters = [
  ['behavior', 'Behavior', { list: true, hint: '* stands for any text' }],
  ['id_prefix', 'ID begins with', {}],
  ['label', 'Label', { list: true, hint: 'name=value' }],
  ['error', 'Error code', { list: true, hint: 'like TIMEOUT' }],
  ['worker', 'Worker', {}],
  ['node', 'Node', {}],
  ['parent', 'Parent', { hint: 'ID of an operation or a task' }],
  ['created', 'Created', { range: true }],
  ['started', 'Started', { range: true }],
  ['finished', 'Finished', { range: true }],
  ['due_before', 'Due before', { time: true }],
];

const statuses = [['CREATED', 'Waiting'], ['RUNNING', 'Running'], ['RETRYING', 'Retrying'], ['SUCCESS', 'Success'], ['DEAD', 'Dead']];

const names = filters.flatMap(([name, , { range }]) => (range ? [name + '_from', name + '_to'] : [name]));

/** What of an address belongs to the query, besides status and final. */
export function apiQuery(query) {
  const q = new URLSearchParams();
  for (const name of ['namespace', 'status', 'final', ...names, 'order']) for (const value of query.getAll(name)) q.append(name, value);
  if (!q.has('order')) q.set('order', 'desc');
  return q;
}

/** Whether the query asks for something in particular. */
export const isFiltered = (query) => ['status', 'final', ...names].some((n) => query.has(n));

/** The query without a value, or without all values of a name. */
function without(query, name, value) {
  const q = new URLSearchParams(query);
  const keep = value === undefined ? [] : query.getAll(name).filter((v) => v !== value);
  q.delete(name);
  q.delete('cursor');
  for (const v of keep) q.append(name, v);
  return q;
}

function withValue(query, name, value, list) {
  const q = list ? new URLSearchParams(query) : without(query, name);
  q.delete('cursor');
  if (value !== '' && !q.getAll(name).includes(value)) q.append(name, value);
  return q;
}

/** @param {{query: URLSearchParams, change: (q: URLSearchParams) => void}} props */
export function Filters({ query, change }) {
  const [more, setMore] = useState(false);
  const chosen = query.getAll('status');
  const toggle = (s) => change(chosen.includes(s) ? without(query, 'status', s) : withValue(query, 'status', s, true));
  const active = names.flatMap((name) => query.getAll(name).map((value) => [name, value]));
  if (query.has('final')) active.push(['final', query.get('final')]);
  return html`<section class="filters" aria-label="Filters">
    <div class="filter-row">
      <div class="segments" role="group" aria-label="Status">
        <button type="button" aria-pressed=${chosen.length ? 'false' : 'true'} onClick=${() => change(without(query, 'status'))}>All</button>
        ${statuses.map(([s, text]) => html`<button type="button" class="s-${s.toLowerCase()}" aria-pressed=${chosen.includes(s) ? 'true' : 'false'} onClick=${() => toggle(s)}>${text}</button>`)}
      </div>
      <${Add} query=${query} change=${change} />
      <button type="button" class="quiet" aria-expanded=${more ? 'true' : 'false'} onClick=${() => setMore(!more)}>Times and order</button>
    </div>
    ${more && html`<${Times} query=${query} change=${change} />`}
    ${active.length > 0 && html`<ul class="chips" aria-label="Active filters">
      ${active.map(([name, value]) => html`<li><button type="button" onClick=${() => change(without(query, name, value))} aria-label="Remove the filter ${name} ${value}"><span>${name.replace(/_/g, ' ')}</span> <${Text} of=${value} max=${60} /><span aria-hidden="true"> ×</span></button></li>`)}
      <li><button type="button" class="quiet" onClick=${() => change(names.concat('status', 'final').reduce((q, n) => without(q, n), query))}>Clear all</button></li>
    </ul>`}
  </section>`;
}

/** Adds one filter: what it is about, and a text. */
function Add({ query, change }) {
  const [name, setName] = useState('behavior');
  const [value, setValue] = useState('');
  const { data } = useLoad('v1/behaviors', { namespace: query.get('namespace') || undefined });
  const [, label, kind] = filters.find(([n]) => n === name);
  const add = (e) => {
    e.preventDefault();
    const text = e.target.elements['filter-value'].value.trim(); // what stands there, also if it is not drawn yet
    if (!text) return;
    setValue('');
    change(withValue(query, name, text, kind.list));
  };
  return html`<form class="add-filter" onSubmit=${add}>
    <label class="sr" for="filter-name">Filter by</label>
    <select id="filter-name" value=${name} onChange=${(e) => setName(e.target.value)}>${filters.filter(([, , k]) => !k.range && !k.time).map(([n, text]) => html`<option value=${n} selected=${n === name}>${text}</option>`)}</select>
    <label class="sr" for="filter-value">${label}</label>
    <input id="filter-value" value=${value} onInput=${(e) => setValue(e.target.value)} list=${name === 'behavior' ? 'behaviors' : undefined} placeholder=${kind.hint || label} autocomplete="off" spellcheck="false" maxlength="300" />
    ${name === 'behavior' && html`<datalist id="behaviors">${(data?.behaviors || []).slice(0, 500).map((b) => html`<option value=${b.name} />`)}</datalist>`}
    <button>Filter</button>
  </form>`;
}

/** A time of the API in the form of a field, in this browser's zone. */
function toField(time) {
  const at = new Date(time);
  if (Number.isNaN(at.getTime())) return '';
  const pad = (n) => String(n).padStart(2, '0');
  return `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}T${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}`;
}

function Times({ query, change }) {
  const field = (name, label) => html`<label>${label}<input type="datetime-local" step="1" value=${toField(query.get(name) || '')}
    onChange=${(e) => change(e.target.value ? withValue(query, name, new Date(e.target.value).toISOString(), false) : without(query, name))} /></label>`;
  return html`<div class="times">
    ${filters.filter(([, , k]) => k.range).map(([name, label]) => html`<fieldset><legend>${label}</legend>${field(name + '_from', 'from')}${field(name + '_to', 'before')}</fieldset>`)}
    <fieldset><legend>Due</legend>${field('due_before', 'before')}</fieldset>
    <fieldset><legend>Order</legend><label>show first<select value=${query.get('order') || 'desc'} onChange=${(e) => change(withValue(query, 'order', e.target.value === 'desc' ? '' : e.target.value, false))}>
      <option value="desc" selected=${query.get('order') !== 'asc'}>newest</option><option value="asc" selected=${query.get('order') === 'asc'}>oldest</option></select></label></fieldset>
  </div>`;
}
