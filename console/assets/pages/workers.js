// Who works: sessions of nodes and workers, and programs with leases of their own.
import { html } from '../core/html.js';
import { useLoad } from '../core/load.js';
import { href } from '../core/route.js';
import { Figures, Meter, Table } from '../parts/table.js';
import { Text } from '../parts/text.js';
import { Badge, Empty, Failed, Head, Loading, count } from '../parts/ui.js';

export function Workers() {
  const { data, error, loading, reload } = useLoad('v1/workers', {}, { every: 3000 });
  const all = [...(data?.workers || [])].sort((a, b) => a.id.localeCompare(b.id));
  const own = all.filter((w) => w.kind === 'session' && !w.id.endsWith('/system'));
  const sum = (list, name) => list.reduce((n, w) => n + (w[name] || 0), 0);
  return html`<${Head} title="Workers" sub=${html`<span>who runs tasks now, in all namespaces</span>`} />
    ${error && html`<${Failed} error=${error} retry=${reload} />`}${!data && loading && html`<${Loading} />`}
    ${data && !own.length && html`<${Empty} title="Nobody runs modules"><p>No worker has a session: tasks of modules wait until there is one. Start one beside the cluster, or let nodes have their own.</p><pre class="command">taskrt worker --join NODE:PORT</pre></${Empty}>`}
    ${data && all.length > 0 && html`<${Figures} of=${[[count(own.length), 'workers of modules'], [`${count(sum(own, 'running'))} / ${count(sum(own, 'slots'))}`, 'slots in use'], [count(all.filter((w) => w.kind === 'external').length), 'programs with leases of their own']]} />
      <${Table} label="Workers" rows=${all} id=${(w) => w.kind + w.id + (w.session || '')} columns=${[
        ['Worker', (w) => html`<${Text} of=${w.id} max=${128} />${w.id.endsWith('/system') && html`<span class="under">what is built in: maintenance, backups</span>`}`, 'main-cell'],
        ['', (w) => w.drained && html`<${Badge} status="DRAINED" title="its node is drained: it gets nothing new" />`],
        ['Kind', (w) => (w.kind === 'external' ? 'external program' : 'session')], ['Node', (w) => w.node || html`<span class="none">—</span>`],
        ['Running', (w) => html`<span class="usage">${w.slots ? html`<${Meter} value=${w.running} of=${w.slots} label="${w.running} of ${w.slots} slots" />` : ''}<a href=${href(['tasks'], { status: 'RUNNING', worker: w.id })}>${count(w.running)}</a>${w.slots ? html`<span class="none"> / ${w.slots}</span>` : ''}</span>`, 'num'],
        ['Wall around its guests', (w) => html`<${Wall} wall=${w.wall} />`],
      ]} />`}`;
}

/** What the kernel keeps from the process of guests. */
function Wall({ wall }) {
  if (!wall) return html`<span class="none">—</span>`;
  const missing = wall.missing || [];
  return html`<details class="wall"><summary>${wall.in_force.length} in force${missing.length ? `, ${missing.length} missing` : ''}${wall.oom_kills ? `, ${wall.oom_kills} ended for memory` : ''}</summary>
    <p class="note">${wall.in_force.join(', ')}</p>${missing.map((m) => html`<p class="note">missing: <${Text} of=${m} max=${400} /></p>`)}</details>`;
}
