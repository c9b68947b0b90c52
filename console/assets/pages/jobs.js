// Bulk jobs: what goes on, how far it is, and what has ended.
import { html, useState, useEffect } from '../core/html.js';
import { useLoad } from '../core/load.js';
import { inSpace, namespaceOf } from '../core/route.js';
import { Ask, cli } from '../parts/ask.js';
import { Meter, Table } from '../parts/table.js';
import { Text } from '../parts/text.js';
import { Badge, Empty, Failed, Head, Loading, When, count } from '../parts/ui.js';

const goesOn = (j) => j.status === 'SELECTING' || j.status === 'RUNNING';

/** What became of tasks that the job has left alone. */
const others = (j) => ['changed', 'gone', 'refused', 'forbidden'].filter((n) => j[n] > 0).map((n) => `${count(j[n])} ${n}`).join(', ');

/** The filter of a job in few words. */
const words = (f) => Object.entries(f).map(([name, value]) => `${name.replace(/_/g, ' ')} ${[value].flat().join(', ')}`).join(' · ') || 'all tasks';

export function Jobs({ route }) {
  const namespace = namespaceOf(route);
  const [fast, setFast] = useState(true);
  const [asked, setAsked] = useState(null);
  const { data, error, loading, reload } = useLoad('v1/jobs', { namespace }, { every: fast ? 1000 : 5000 });
  const all = data?.jobs || [];
  const active = all.some(goesOn);
  useEffect(() => { if (data) setFast(active); }, [data, active]);
  const close = (changed) => {
    setAsked(null);
    if (changed) reload();
  };
  return html`<${Head} title="Jobs" sub=${html`<span>one action on many tasks of ${namespace}; the 50 that ended last are kept</span>`} />
    ${error && html`<${Failed} error=${error} retry=${reload} />`}${!data && loading && html`<${Loading} />`}
    ${data && !all.length && html`<${Empty} title="No jobs yet"><p>In the list of tasks, <em>All that fit</em> cancels, retries, resubmits or removes all tasks that a query selects.</p><pre class="command">taskrt retry --error TIMEOUT --dry-run</pre></${Empty}>`}
    ${all.length > 0 && html`<${Table} label="Jobs" rows=${all} id=${(j) => j.id} columns=${[
      ['Status', (j) => html`<${Badge} status=${j.status} />`], ['Job', (j) => html`<strong>${j.action}</strong> <code class="short">${j.id}</code><span class="under"><${Text} of=${words(j.filter)} max=${160} />${j.error && html` <code class="err">${j.error.code}</code> <${Text} of=${j.error.message} max=${160} />`}</span>`, 'main-cell'],
      ['Turns', (j) => html`<${Meter} value=${j.position} of=${j.selected} label=${`${j.position} of ${j.selected} tasks had their turn`} />`, 'lane'], ['', (j) => `${count(j.position)} / ${count(j.selected)}`, 'num'],
      ['Left alone', (j) => others(j) || html`<span class="none">—</span>`], ['By', (j) => j.creator || html`<span class="none">—</span>`], ['Begun', (j) => html`<${When} time=${j.created_at} />`], ['Ended', (j) => html`<${When} time=${j.ended_at} none="—" />`],
      ['', (j) => goesOn(j) && html`<button onClick=${() => setAsked(j)}>End</button>`],
    ]} />`}
    ${asked && html`<${Ask} title="End this job?" verb="End the job" danger request=${{ method: 'POST', path: `v1/jobs/${asked.id}/cancel` }} command=${cli(['job', 'cancel', asked.id])} done="The job has ended." close=${close}>
      <p>${count(asked.position)} of ${count(asked.selected)} tasks have had their turn. What was done to them stays done; the others are left alone.</p></${Ask}>`}`;
}
