// The list of tasks: a query, a page of its answer, and what changes meanwhile.
import { html, useState, useEffect, useRef } from '../core/html.js';
import { href, goQuery, inSpace, namespaceOf } from '../core/route.js';
import { useLoad } from '../core/load.js';
import { follow } from '../core/events.js';
import { length, now, useTick } from '../core/clock.js';
import { Filters, apiQuery, isFiltered } from '../parts/filters.js';
import { Bulk } from '../parts/bulk.js';
import { Views } from '../parts/views.js';
import { Text } from '../parts/text.js';
import { Badge, Empty, Failed, Head, Loading, When, count, statusOf } from '../parts/ui.js';

const size = 50;
/** What a row shows; params and results may be long. */
const fields = ['id', 'namespace', 'behavior', 'status', 'final', 'attempt', 'failures', 'lost_count', 'created_at', 'started_at', 'finished_at', 'not_before', 'labels', 'error', 'lease', 'parent', 'partition', 'cancel_requested'];

export function Tasks({ route }) {
  const { query } = route;
  const namespace = namespaceOf(route);
  const asked = apiQuery(query).toString();
  const cursor = query.get('cursor') || '';
  const params = { ...collect(asked), fields, limit: size, cursor };
  const list = useLoad('v1/tasks', params);
  const counted = useLoad('v1/tasks', { ...collect(asked), fields: ['id'], limit: 1, count: true });
  const former = useRef([]);
  const live = useLive({ namespace, query, list, counted, follows: !cursor });
  const change = (q) => {
    former.current = [];
    goQuery(q);
  };
  const page = (to, forth) => {
    if (forth) former.current.push(cursor);
    const q = new URLSearchParams(query);
    q.delete('cursor');
    if (to) q.set('cursor', to);
    goQuery(q);
  };
  const tasks = list.data?.tasks || [];
  return html`<${Head} title="Tasks" sub=${html`<${Total} counted=${counted} /><${Live} state=${live} cursor=${cursor} />`}><${Bulk} route=${route} /><${Views} query=${query} open=${change} /></${Head}>
    <${Filters} query=${query} change=${change} />
    ${list.error && html`<${Failed} error=${list.error} retry=${list.reload} />`}
    ${!list.data && list.loading && html`<${Loading} />`}
    ${list.data && (tasks.length ? html`<${Table} tasks=${tasks} namespace=${namespace} />` : html`<${Nothing} filtered=${isFiltered(query)} more=${list.data.cursor} clear=${() => change(new URLSearchParams(inSpace(namespace)))} namespace=${namespace} />`)}
    ${list.data && html`<nav class="pager" aria-label="Pages of the list">
      ${cursor && html`<button onClick=${() => { former.current = []; page('', false); }}>First page</button>`}
      ${former.current.length > 0 && html`<button onClick=${() => page(former.current.pop(), false)}>Previous</button>`}
      ${list.data.cursor && html`<button onClick=${() => page(list.data.cursor, true)}>${tasks.length < size ? 'Search on' : 'Next'}</button>`}
      ${list.data.examined > 0 && tasks.length < size && list.data.cursor && html`<span class="note">${count(list.data.examined)} records were looked at so far.</span>`}
    </nav>`}`;
}

/** A query as an object of lists. */
function collect(text) {
  const all = {};
  for (const [name, value] of new URLSearchParams(text)) (all[name] ||= []).push(value);
  return all;
}

function Total({ counted }) {
  const n = counted.data?.count;
  if (n === undefined) return html`<span>${counted.error ? 'cannot be counted now' : 'counting…'}</span>`;
  return html`<span>${count(n)}${counted.data.count_more ? ' or more' : ''} ${n === 1 ? 'task' : 'tasks'}</span>`;
}

const told = { live: 'live', away: 'reconnecting', busy: 'busy: refreshed every 5 s', still: '' };

const Live = ({ state, cursor }) => html`<span class="live l-${cursor ? 'still' : state}">${cursor ? 'not live: this is not the first page' : told[state]}</span>`;

/**
 * Keeps the first page fresh. An event says that something has changed, and the page is asked for anew, at most each second: what no longer
 * fits goes, and the order is the server's. Where events come faster than anybody reads, the stream is ended, and a timer does.
 */
function useLive({ namespace, query, list, counted, follows }) {
  const [state, setState] = useState('still');
  const reload = useRef(null);
  reload.current = async () => { await list.reload(); };
  const recount = useRef(null);
  recount.current = counted.reload;
  const behaviors = query.getAll('behavior');
  const only = behaviors.length === 1 && !behaviors[0].includes('*') ? behaviors[0] : '';
  const parent = query.get('parent') || '';
  useEffect(() => {
    if (!follows) return undefined;
    let dirty = false;
    let events = 0;
    let busy = false;
    let end = () => {};
    const begin = () => {
      busy = false;
      end = follow({ namespace: namespace === 'default' ? undefined : namespace, behavior: only || undefined, parent: parent || undefined }, (kind) => {
        if (kind === 'progress') return;
        dirty = true;
        events++;
      }, setState);
    };
    begin();
    let ticks = 0;
    const timer = setInterval(() => {
      ticks++;
      if (document.hidden) return;
      if (events > 100 && !busy) {
        end();
        busy = true;
        ticks = 1;
        setState('busy');
      }
      events = 0;
      if (busy && ticks % 60 === 0) begin();
      if (dirty || (busy && ticks % 5 === 0)) {
        dirty = false;
        reload.current();
        if (ticks % 2 === 0) recount.current();
        else setTimeout(() => recount.current?.(), 1000);
      }
    }, 1000);
    return () => {
      clearInterval(timer);
      end();
      recount.current = null;
    };
  }, [namespace, only, parent, follows, query.toString()]);
  return state;
}

function Nothing({ filtered, more, clear, namespace }) {
  if (filtered && more) return html`<${Empty} title="None on this page"><p>The search has not come to its end. Search on below.</p></${Empty}>`;
  if (filtered) return html`<${Empty} title="No task is like that"><p>None in the namespace ${namespace} fits all filters.</p><button onClick=${clear}>Clear the filters</button></${Empty}>`;
  return html`<${Empty} title="No tasks yet"><p>A task appears here as soon as it is submitted. Push a module, and submit the first one:</p>
    <pre class="command">taskrt push wordcount.wasm${'\n'}taskrt submit wordcount --params '{"text":"a b a"}'</pre></${Empty}>`;
}

function Table({ tasks, namespace }) {
  useTick();
  return html`<div class="table-box" tabindex="0" role="region" aria-label="Tasks"><table class="list tasks">
    <thead><tr><th scope="col">Status</th><th scope="col">Task</th><th scope="col">Behavior</th><th scope="col" class="num">Attempt</th><th scope="col" class="num">Time</th><th scope="col">Created</th></tr></thead>
    <tbody>${tasks.map((t) => html`<tr key=${t.id}>
      <td><${Badge} status=${statusOf(t)} />${t.cancel_requested && html`<span class="mini">cancelling</span>`}</td>
      <td class="main-cell"><a href=${href(['tasks', t.id], inSpace(namespace))}><${Text} of=${t.id} max=${128} /></a>
        <span class="under">${t.error && html`<code class="err">${t.error.code}</code> <${Text} of=${t.error.message} max=${120} />`}
        ${Object.entries(t.labels || {}).slice(0, 4).map(([k, v]) => html`<span class="label"><${Text} of=${k + '=' + v} max=${40} /></span>`)}</span></td>
      <td><${Text} of=${t.behavior} max=${128} /></td>
      <td class="num">${t.attempt || ''}${t.lost_count > 0 && html`<span class="mini" title="runs whose worker was lost">${t.lost_count} lost</span>`}</td>
      <td class="num"><${Took} t=${t} /></td>
      <td><${When} time=${t.created_at} /></td></tr>`)}</tbody></table></div>`;
}

/** How long it ran, runs, or waits yet. */
function Took({ t }) {
  if (t.status === 'RUNNING' && t.started_at) return html`<span>${length(Math.max(0, now() - Date.parse(t.started_at)))}</span>`;
  if (!t.final && t.not_before) {
    const left = Date.parse(t.not_before) - now();
    return html`<span class="none">${left > 1000 ? 'due in ' + length(left) : 'due'}</span>`;
  }
  return t.started_at && t.finished_at ? length(Date.parse(t.finished_at) - Date.parse(t.started_at)) : html`<span class="none">—</span>`;
}
