// One behavior: what its tasks do, its versions, and how its last runs went.
import { html, useState } from '../core/html.js';
import { useLoad } from '../core/load.js';
import { go, href, inSpace, namespaceOf } from '../core/route.js';
import { useMe, may } from '../core/me.js';
import { Ask, cli } from '../parts/ask.js';
import { Rates } from '../parts/rates.js';
import { Runs, byVersion } from '../parts/runs.js';
import { Figures, Table } from '../parts/table.js';
import { Payload, Text } from '../parts/text.js';
import { length } from '../core/clock.js';
import { Badge, Failed, Head, Loading, Short, Stamp, When, brief, count, size } from '../parts/ui.js';

const recent = 200;

export function Behavior({ route, id }) {
  const namespace = namespaceOf(route);
  const space = inSpace(namespace);
  const path = `v1/behaviors/${encodeURIComponent(id)}`;
  const who = useMe();
  const { data, error, loading, reload } = useLoad(path, space, { every: 10e3 });
  const stats = useLoad(path + '/stats', space, { every: 3000, skip: !data }).data;
  const runs = useLoad('v1/tasks', { ...space, behavior: id, order: 'desc', limit: recent, fields: ['id', 'status', 'final', 'version', 'history'] }, { every: 10e3, skip: !data });
  const [asked, setAsked] = useState(null);
  if (!data) return html`<${Head} title=${id} />${error ? html`<${Failed} error=${error} retry=${reload} />` : loading && html`<${Loading} />`}`;
  const b = data.behavior;
  const where = { namespace, behavior: id };
  const list = (query) => href(['tasks'], { ...space, behavior: id, ...query });
  const close = (changed) => {
    if (changed && asked.verb === 'rm') go(['behaviors'], space);
    else if (changed) reload();
    setAsked(null);
  };
  const ask = (verb, version) => setAsked({ verb, version });
  const measured = byVersion(runs.data?.tasks || [], b.versions || []);
  return html`<${Head} title=${b.name} sub=${html`${b.paused ? html`<${Badge} status="PAUSED" />` : html`<${Badge} status="ACTIVE" />`}<span>${b.kind}</span>${b.manifest?.description && html`<${Text} of=${b.manifest.description} max=${200} />`}`}>
      ${may(who, 'submit', where) && html`<a class="button primary" href=${href(['submit'], { ...space, behavior: id })}>Submit a task</a>`}
      ${may(who, 'operate', where) && html`<button onClick=${() => ask(b.paused ? 'resume' : 'pause')}>${b.paused ? 'Resume' : 'Pause'}</button>`}
      ${may(who, 'deploy', where) && html`<button onClick=${() => ask('rm')}>Remove</button>`}</${Head}>
    ${error && html`<${Failed} error=${error} retry=${reload} />`}
    <${Figures} of=${[[html`<a href=${list({ status: 'RUNNING' })}>${count(stats?.running ?? '')}</a>`, 'running'], [count(stats?.due ?? ''), 'due'], [count(stats?.delayed ?? ''), 'later'], [html`<a href=${list({ status: 'RETRYING' })}>${count(stats?.retrying ?? '')}</a>`, 'retrying'], [html`<${When} time=${stats?.oldest} none="—" />`, 'oldest due']]} />
    <section class="panel"><h2>Rates</h2><${Rates} key=${namespace + '/' + b.name} namespace=${namespace} behavior=${b.name} /></section>
    <section class="panel"><div class="panel-head"><h2>The last runs</h2><a href=${list({})}>Its tasks</a></div><${Runs} tasks=${runs.data?.tasks || []} namespace=${namespace} /></section>
    <section class="panel"><h2>Versions</h2>${b.versions?.length ? html`<${Table} plain label="Versions" rows=${b.versions} id=${(v) => v.version} columns=${[
      ['Version', (v) => html`<${Short} of=${v.version} />`], ['', (v) => v.active && html`<${Badge} status="ACTIVE" />`], ['Module', (v) => html`<${Short} of=${v.module} />`], ['Activated', (v) => html`<${Stamp} time=${v.activated_at} />`],
      ['Runs seen', (v) => count(measured[v.version]?.runs || 0), 'num'], ['Median', (v) => (measured[v.version] ? length(measured[v.version].median) : '—'), 'num'], ['95 %', (v) => (measured[v.version] ? length(measured[v.version].high) : '—'), 'num'],
      ['Fuel', (v) => (measured[v.version]?.fuel ? brief(measured[v.version].fuel) : '—'), 'num'], ['Memory', (v) => (measured[v.version]?.memory ? size(measured[v.version].memory) : '—'), 'num'], ['Failed', (v) => (measured[v.version] ? `${Math.round(measured[v.version].failed * 100)} %` : '—'), 'num'],
      ['', (v) => !v.active && may(who, 'deploy', where) && html`<button onClick=${() => ask('activate', v.version)}>Activate</button>`],
    ]} /><p class="note">Durations, fuel, memory and failures are those of the attempts that its last ${recent} tasks remember, by the version that was active then; fuel is the median, memory the most.</p>` : html`<p class="none">It has none: programs accept its tasks over HTTP.</p>`}</section>
    <section class="panel"><h2>Policy</h2><${Payload} value=${b.manifest} label="Policy" /></section>
    ${asked && html`<${Change} asked=${asked} b=${b} path=${path} namespace=${namespace} close=${close} />`}`;
}

/** What each change says, asks and does. */
function Change({ asked, b, path, namespace, close }) {
  const [purge, setPurge] = useState(false);
  const at = { namespace };
  const query = inSpace(namespace);
  switch (asked.verb) {
    case 'pause':
      return html`<${Ask} title="Pause ${b.name}?" verb="Pause" request=${{ method: 'POST', path: path + '/pause', query, body: {} }} command=${cli(['behavior', 'pause', b.name], at)} done="It starts no more tasks." close=${close}><p>Nothing new starts until it is resumed. What runs goes on. Submits are taken, and wait.</p></${Ask}>`;
    case 'resume':
      return html`<${Ask} title="Resume ${b.name}?" verb="Resume" request=${{ method: 'POST', path: path + '/resume', query, body: {} }} command=${cli(['behavior', 'resume', b.name], at)} done="Its tasks start again." close=${close}><p>All that is due starts as soon as there are free slots.</p></${Ask}>`;
    case 'activate':
      return html`<${Ask} title="Activate another version?" verb="Activate" request=${{ method: 'POST', path: path + '/activate', query, body: { version: asked.version } }} command=${cli(['behavior', 'activate', b.name, asked.version], at)} done="The version is active." close=${close}><p>New tasks run by <${Short} of=${asked.version} />. Those that have begun stay on the version that they are pinned to.</p></${Ask}>`;
  }
  return html`<${Ask} title="Remove ${b.name}?" verb="Remove for good" danger request=${{ method: 'DELETE', path, query: { ...query, ...(purge ? { purge: 'true' } : {}) } }} command=${cli(['behavior', 'rm', b.name, ...(purge ? ['--purge'] : [])], at)} done="The behavior is removed." close=${close}>
    <p>New submits are refused. Waiting tasks wait for a behavior of this name; what runs goes on.</p><p class="check"><input type="checkbox" id="purge" checked=${purge} onChange=${(e) => setPurge(e.target.checked)} /><label for="purge">Remove its tasks too, bit by bit</label></p></${Ask}>`;
}
