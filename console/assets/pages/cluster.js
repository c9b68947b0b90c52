// The nodes: who leads, who lags, whether their states agree, and how long disks take.
import { html, useState, useEffect, useRef } from '../core/html.js';
import { send } from '../core/api.js';
import { useLoad, useEvery } from '../core/load.js';
import { useMe, may } from '../core/me.js';
import { Ask, cli } from '../parts/ask.js';
import { Figures, Table } from '../parts/table.js';
import { Text } from '../parts/text.js';
import { Badge, Failed, Head, Loading, Short, count } from '../parts/ui.js';

export function Cluster() {
  const who = useMe();
  const { data, error, loading, reload } = useLoad('v1/cluster', {}, { every: 2000 });
  const disk = useDisk();
  const [asked, setAsked] = useState(null);
  if (!data) return html`<${Head} title="Nodes" />${error ? html`<${Failed} error=${error} retry=${reload} />` : loading && html`<${Loading} />`}`;
  const nodes = data.nodes;
  const newest = Math.max(...nodes.map((n) => n.applied_index || 0));
  const level = data.feature_level;
  const t = data.tasks;
  const operates = may(who, 'operate', { everywhere: true });
  const admin = may(who, 'admin', { everywhere: true });
  const close = (changed) => {
    setAsked(null);
    if (changed) reload();
  };
  return html`<${Head} title="Nodes" sub=${html`<span>${data.leader ? html`<strong>${data.leader}</strong> leads` : 'nobody leads'}</span><span>feature level ${level.level}${level.known > level.level ? ` of ${level.known}` : ''}</span>${level.held_by?.length ? html`<span>held by ${level.held_by.join(', ')}</span>` : ''}`}>${admin && data.leader && nodes.length > 1 && html`<button onClick=${() => setAsked({ verb: 'transfer' })}>Hand leadership over</button>`}</${Head}>
    ${!data.leader && html`<div class="failed" role="alert"><strong>The cluster has no leader</strong><p>A majority of the voters must be reachable. Nothing that was accepted is lost; nothing is accepted or started meanwhile.</p></div>`}
    ${error && html`<${Failed} error=${error} retry=${reload} />`}
    <${Figures} of=${[[count(t.running), 'running'], [count(t.created), 'waiting'], [count(t.retrying), 'retrying'], [count(t.repeating), 'repeat'], [count(t.success), 'success'], [count(t.failure), 'failed for good'], [disk ? `${disk.mean} ms` : '…', disk ? `a write to the log of this node, ${disk.writes} lately` : 'a write to the log of this node']]} />
    <${Table} label="Nodes" rows=${nodes} id=${(n) => n.id} columns=${[
      ['Node', (n) => html`<strong><${Text} of=${n.id} max=${64} /></strong><span class="under">${n.http}</span>`, 'main-cell'],
      ['Role', (n) => html`<${Badge} status=${n.role.toUpperCase()} />${n.drained && html` <${Badge} status="DRAINED" />`}${n.vote === 'newcomer' || n.vote === 'held' ? html`<span class="mini">${n.vote === 'newcomer' ? 'waits to be approved' : 'held back'}</span>` : ''}`],
      ['Votes', (n) => (n.voter ? 'yes' : 'no')], ['Applied', (n) => (n.reachable ? count(n.applied_index) : '—'), 'num'], ['Behind', (n) => (n.reachable ? count(newest - n.applied_index) : '—'), 'num'],
      ['State', (n) => html`<${Agrees} n=${n} nodes=${nodes} />`], ['Files', (n) => html`<${Files} blobs=${n.blobs} />`], ['Version', (n) => html`${n.version || '—'}${n.feature_level ? html`<span class="under">level ${n.feature_level}</span>` : ''}`],
      ['', (n) => html`<span class="row-actions">${operates && html`<button onClick=${() => setAsked({ verb: n.drained ? 'undrain' : 'drain', n })}>${n.drained ? 'Undrain' : 'Drain'}</button>`}${admin && (n.vote === 'newcomer' || n.vote === 'held') && html`<button onClick=${() => setAsked({ verb: 'approve', n })}>Approve</button>`}</span>`],
    ]} />
    <p class="note">Digests of states are compared at the same index; a node that differs from a majority stops by itself. To demote or remove a node: <code>taskrt cluster demote|remove NODE</code>.</p>
    ${asked && html`<${Change} asked=${asked} close=${close} />`}`;
}

/** Whether others have the same digest at the same index. */
function Agrees({ n, nodes }) {
  if (!n.reachable || !n.digest) return html`<span class="none">—</span>`;
  const [at, hex] = n.digest.split(':');
  const same = nodes.filter((o) => o.id !== n.id && o.digest?.split(':')[0] === at);
  const differs = same.filter((o) => o.digest !== n.digest);
  const title = `digest ${hex} at index ${at}`;
  if (differs.length) return html`<${Badge} status="FAILURE" title=${title} /> differs from ${differs.map((o) => o.id).join(', ')}`;
  return html`<span title=${title}>${same.length ? `as ${same.map((o) => o.id).join(', ')}` : html`<${Short} of=${hex} n=${8} />`}</span><span class="under">at ${count(Number(at))}</span>`;
}

function Files({ blobs }) {
  if (!blobs) return html`<span class="none">—</span>`;
  if (blobs.error) return html`<span class="err"><${Text} of=${blobs.error} max=${80} /></span>`;
  const bad = [blobs.missing && `${count(blobs.missing)} missing`, blobs.corrupt && `${count(blobs.corrupt)} were corrupt`].filter(Boolean);
  return bad.length ? html`<span class="mini">${bad.join(', ')}</span>` : 'all there';
}

/** How long the writes to this node's log took lately, by the difference of two looks at its metrics. */
function useDisk() {
  const [disk, setDisk] = useState(null);
  const former = useRef(null);
  const look = async () => {
    try {
      const text = await (await send('GET', 'metrics', { headers: { Accept: 'text/plain' } })).text();
      const read = (name) => Number(new RegExp(`^taskrt_raft_disk_write_duration_seconds_${name} (\\S+)$`, 'm').exec(text)?.[1] || 0);
      const now = { sum: read('sum'), n: read('count') };
      const was = former.current || { sum: 0, n: 0 };
      if (now.n > was.n) {
        setDisk({ mean: (((now.sum - was.sum) / (now.n - was.n)) * 1000).toFixed(2), writes: count(now.n - was.n) });
        former.current = now;
      }
    } catch {
      // Metrics need a role for everything; without them the figure is left out.
    }
  };
  useEffect(() => { look(); }, []);
  useEvery(look, 10e3);
  return disk;
}

function Change({ asked, close }) {
  const { verb, n } = asked;
  const member = n && `v1/cluster/members/${encodeURIComponent(n.id)}`;
  if (verb === 'transfer') return html`<${Ask} title="Hand leadership over?" verb="Hand over" request=${{ method: 'POST', path: 'v1/cluster/transfer', body: {} }} command=${cli(['cluster', 'transfer'])} done="Another node leads." close=${close}><p>The voter with the most current log leads next. Requests wait for it for a moment; nothing is lost.</p></${Ask}>`;
  if (verb === 'approve') return html`<${Ask} title="Let ${n.id} vote?" verb="Approve" request=${{ method: 'POST', path: member + '/approve', body: {} }} command=${cli(['cluster', 'approve', n.id])} done="It votes as soon as it has caught up." close=${close}><p>It counts in every majority from then on.</p></${Ask}>`;
  const drain = verb === 'drain';
  return html`<${Ask} title=${drain ? `Drain ${n.id}?` : `Give ${n.id} tasks again?`} verb=${drain ? 'Drain' : 'Undrain'} request=${{ method: 'POST', path: member + '/drain', body: { drain } }} command=${cli(['cluster', verb, n.id])} done=${drain ? 'Its workers get nothing new.' : 'Its workers get tasks again.'} close=${close}><p>${drain ? 'Its workers get nothing new; what runs there ends by itself. It goes on voting and serving.' : 'Tasks are assigned to its workers again.'}</p></${Ask}>`;
}
