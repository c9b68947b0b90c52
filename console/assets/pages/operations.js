// Fan-outs: operations, in order of creation, with what their partitions do.
import { html } from '../core/html.js';
import { goQuery, href, inSpace, namespaceOf } from '../core/route.js';
import { useLoad } from '../core/load.js';
import { Table } from '../parts/table.js';
import { Text } from '../parts/text.js';
import { Badge, Empty, Failed, Head, Loading, When, count } from '../parts/ui.js';

const statuses = ['RUNNING', 'COMPLETING', 'SUCCESS', 'FAILURE'];

export function Operations({ route }) {
  const namespace = namespaceOf(route);
  const space = inSpace(namespace);
  const { query } = route;
  const status = query.get('status') || '';
  const cursor = query.get('cursor') || '';
  const { data, error, loading, reload } = useLoad('v1/operations', { ...space, status, behavior: query.get('behavior'), target: query.get('target'), cursor, limit: 100 }, { every: 3000 });
  const all = data?.operations || [];
  const change = (more) => goQuery({ ...space, status, ...more });
  return html`<${Head} title="Operations" sub=${html`<span>one task per partition, a completion, one outcome</span>`}><label class="inline">Status <select value=${status} onChange=${(e) => change({ status: e.target.value })}><option value="" selected=${!status}>all</option>${statuses.map((s) => html`<option value=${s} selected=${s === status}>${s.toLowerCase()}</option>`)}</select></label></${Head}>
    ${error && html`<${Failed} error=${error} retry=${reload} />`}${!data && loading && html`<${Loading} />`}
    ${data && !all.length && html`<${Empty} title=${status ? 'No operation is like that' : 'No operations yet'}><p>An operation runs one task for each partition of something, and then its completion.</p><pre class="command">taskrt op start BEHAVIOR --partitions 8</pre></${Empty}>`}
    ${all.length > 0 && html`<${Table} label="Operations" rows=${all} id=${(o) => o.id} columns=${[
      ['Status', (o) => html`<${Badge} status=${o.status} />${o.stopping && html`<span class="mini">stopping</span>`}`], ['Operation', (o) => html`<a href=${href(['operations', o.id], space)}><${Text} of=${o.id} max=${100} /></a><span class="under">${o.behavior}${o.target ? html` on <${Text} of=${o.target} max=${60} />` : ''}${o.error ? html` <code class="err">${o.error.code}</code>` : ''}</span>`, 'main-cell'],
      ['Partitions', (o) => html`<${Progress} o=${o} />`, 'lane'], ['', (o) => `${count(o.counts.success)} / ${count(o.partitions)}`, 'num'], ['Created', (o) => html`<${When} time=${o.created_at} />`], ['Ended', (o) => html`<${When} time=${o.finished_at} none="—" />`],
    ]} />`}
    <nav class="pager" aria-label="Pages of the list">${cursor && html`<button onClick=${() => change({})}>First page</button>`}${data?.cursor && html`<button onClick=${() => change({ cursor: data.cursor })}>Next</button>`}</nav>`;
}

const kinds = ['success', 'running', 'retrying', 'failure', 'waiting'];

/** How many partitions are how far, as one bar. */
export const Progress = ({ o }) => html`<span class="stack" role="img" aria-label=${kinds.map((k) => `${o.counts[k]} ${k}`).join(', ')}>${kinds.map((k) => o.counts[k] > 0 && html`<span class="s-${k}" style=${{ width: (o.counts[k] / o.partitions) * 100 + '%' }}></span>`)}</span>`;
