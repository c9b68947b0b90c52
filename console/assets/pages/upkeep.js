// What the cluster does for itself: maintenance, and backups.
import { html, useState } from '../core/html.js';
import { href } from '../core/route.js';
import { useLoad } from '../core/load.js';
import { length } from '../core/clock.js';
import { useMe, may } from '../core/me.js';
import { Ask, cli } from '../parts/ask.js';
import { Table } from '../parts/table.js';
import { Text } from '../parts/text.js';
import { Badge, Empty, Facts, Failed, Head, Loading, Stamp, When, count, statusOf } from '../parts/ui.js';

export function Maintenance() {
  const who = useMe();
  const info = useLoad('v1/maintenance', {}, { every: 5000 });
  const runs = useLoad('v1/maintenance/runs', {}, { every: 5000 });
  const [asked, setAsked] = useState(false);
  const m = info.data;
  const list = [...(runs.data?.runs || [])].sort((a, b) => b.run - a.run);
  const sum = (r, name) => (r.objects || []).reduce((n, o) => n + o[name], 0);
  return html`<${Head} title="Maintenance" sub=${html`<span>what is over its retention, and what nothing refers to, is removed</span>`}>${may(who, 'operate', { everywhere: true }) && html`<button onClick=${() => setAsked(true)}>Run now</button>`}</${Head}>
    ${info.error && html`<${Failed} error=${info.error} retry=${info.reload} />`}${!m && info.loading && html`<${Loading} />`}
    ${m && html`<section class="panel"><${Facts} of=${[['Every', m.every === '0s' ? 'only on demand' : m.every], ['Now', m.paused ? 'paused' : m.status.toLowerCase()], ['Next run', html`<${When} time=${m.next_run} none="—" />`], ['Grace', m.grace], ['Scans', `${count(m.scan_per_second)} / s`], ['Deletes', `${count(m.delete_per_second)} / s`]]} /></section>`}
    ${runs.data && !list.length && html`<${Empty} title="No run yet"><p>The first one comes by itself${m?.next_run ? html` <${When} time=${m.next_run} />` : ''}.</p></${Empty}>`}
    ${list.length > 0 && html`<${Table} label="Runs of maintenance" rows=${list} id=${(r) => r.run} columns=${[
      ['Run', (r) => r.run, 'num'], ['Status', (r) => html`<${Badge} status=${r.status} />${r.dry_run && html`<span class="mini">dry run</span>`}`], ['Begun', (r) => html`<${Stamp} time=${r.started_at} />`], ['Took', (r) => (r.started_at && r.finished_at ? length(Date.parse(r.finished_at) - Date.parse(r.started_at)) : '—'), 'num'],
      ['Looked at', (r) => count(sum(r, 'scanned')), 'num'], ['Deleted', (r) => html`<${Deleted} r=${r} n=${sum(r, 'deleted')} />`, 'num'], ['Message', (r) => html`<${Text} of=${r.message || ''} max=${200} />`],
    ]} />`}
    ${asked && html`<${RunNow} close=${(changed) => { setAsked(false); if (changed) { info.reload(); runs.reload(); } }} />`}`;
}

const Deleted = ({ r, n }) => (n ? html`<span title=${r.objects.filter((o) => o.deleted).map((o) => `${o.kind}${o.namespace ? ' of ' + o.namespace : ''}: ${o.deleted}`).join(', ')}>${count(n)}</span>` : html`<span class="none">0</span>`);

function RunNow({ close }) {
  const [dry, setDry] = useState(true);
  return html`<${Ask} title="Run maintenance now?" verb=${dry ? 'Count' : 'Run'} request=${{ method: 'POST', path: 'v1/maintenance/runs', body: { dry_run: dry } }} command=${cli(['maintenance', 'run', ...(dry ? ['--dry-run'] : [])])} done="A run was asked for." close=${close}>
    <p>It removes only what may be removed anyhow, at its rate, beside live work.</p><p class="check"><input type="checkbox" id="dry" checked=${dry} onChange=${(e) => setDry(e.target.checked)} /><label for="dry">Only count, delete nothing</label></p></${Ask}>`;
}

export function Backups() {
  const [asked, setAsked] = useState(false);
  const holds = useLoad('v1/snapshot/holds', {}, { every: 5000 });
  const tasks = useLoad('v1/tasks', { namespace: '_system', id_prefix: 'backup' }, { every: 5000 });
  const task = tasks.data?.tasks?.find((t) => t.id === 'backup');
  const past = task ? [...task.history].reverse() : [];
  return html`<${Head} title="Backups" sub=${html`<span>of the whole cluster, by schedule and by hand</span>`}>${task && html`<button onClick=${() => setAsked(true)}>Back up now</button>`}</${Head}>
    ${tasks.error && html`<${Failed} error=${tasks.error} retry=${tasks.reload} />`}${!tasks.data && tasks.loading && html`<${Loading} />`}
    ${tasks.data && !task && html`<${Empty} title="No schedule"><p>The servers make no backups by themselves. Tell them where to, and how often; or save one by hand, from any node, while the cluster works.</p><pre class="command">taskrt server … --backup-to s3://BUCKET/PREFIX --backup-every 6h --backup-keep 28${'\n'}taskrt snapshot save FILE</pre></${Empty}>`}
    ${task && html`<section class="panel"><${Facts} of=${[['Now', html`<${Badge} status=${statusOf(task)} />`], ['Next', html`<${When} time=${task.not_before} none="—" />`], ['Last success', html`<${When} time=${past.find((a) => a.outcome === 'SUCCESS')?.finished_at} none="none is remembered" />`], ['Task', html`<a href=${href(['tasks', 'backup'], { namespace: '_system' })}>_system/backup</a>`]]} />
      ${task.error && html`<p class="field-error"><code>${task.error.code}</code> <${Text} of=${task.error.message} max=${400} /></p>`}</section>
      ${past.length > 0 && html`<${Table} label="The last backups" rows=${past} id=${(a) => a.attempt} columns=${[['Attempt', (a) => a.attempt, 'num'], ['Outcome', (a) => html`<${Badge} status=${a.outcome === 'SUCCESS' ? 'SUCCESS' : 'FAILURE'} /> ${a.outcome !== 'SUCCESS' && html`<code>${a.outcome}</code>`}`], ['Node', (a) => a.node || '—'], ['Begun', (a) => html`<${Stamp} time=${a.started_at} />`], ['Took', (a) => (a.finished_at ? length(Date.parse(a.finished_at) - Date.parse(a.started_at)) : '—'), 'num']]} />`}`}
    ${holds.data?.holds?.length > 0 && html`<section class="panel gap"><h2>Being saved now</h2><${Table} plain label="Backups under way" rows=${holds.data.holds} id=${(h) => h.id} columns=${[['For', (h) => html`<${Text} of=${h.holder} max=${120} />`], ['Lives yet', (h) => h.left, 'num']]} /></section>`}
    ${asked && html`<${Ask} title="Back up now?" verb="Back up" request=${{ method: 'POST', path: 'v1/snapshot/begin', body: {} }} command=${cli(['snapshot', 'now'])} done="A backup was asked for." close=${(changed) => { setAsked(false); if (changed) tasks.reload(); }}><p>The servers save the state and all blobs that the target lacks, beside live work, and verify it.</p></${Ask}>`}`;
}
