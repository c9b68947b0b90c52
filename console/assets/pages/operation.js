// One operation: its outcome, and a map of its partitions.
import { html, useState } from '../core/html.js';
import { go, href, inSpace, namespaceOf } from '../core/route.js';
import { useLoad } from '../core/load.js';
import { length, now } from '../core/clock.js';
import { useMe, may } from '../core/me.js';
import { Ask, cli } from '../parts/ask.js';
import { PartitionMap } from '../parts/map.js';
import { Figures } from '../parts/table.js';
import { Block, Payload, Text } from '../parts/text.js';
import { Badge, Facts, Failed, Head, Loading, Short, Stamp, When, count } from '../parts/ui.js';
import { Progress } from './operations.js';

export function Operation({ route, id }) {
  const namespace = namespaceOf(route);
  const space = inSpace(namespace);
  const path = `v1/operations/${encodeURIComponent(id)}`;
  const who = useMe();
  const [asked, setAsked] = useState('');
  const { data, error, loading, reload } = useLoad(path, space, { every: 1500, exact: true });
  const o = data?.operation;
  if (!o) return html`<${Head} title=${id} />${error ? html`<${Failed} error=${error} retry=${reload} />` : loading && html`<${Loading} />`}`;
  const where = { namespace, behavior: o.behavior };
  const steers = may(who, ['operate', 'submit'], where);
  const ended = o.status === 'SUCCESS' || o.status === 'FAILURE';
  const close = (changed) => {
    setAsked('');
    if (changed && asked === 'rm') go(['operations'], space);
    else if (changed) reload();
  };
  return html`<${Head} title=${o.id} sub=${html`<${Badge} status=${o.status} />${o.stopping && html`<span class="mini">stopping</span>`}<a href=${href(['behaviors', o.behavior], space)}>${o.behavior}</a>${o.target && html`<span>on <${Text} of=${o.target} max=${80} /></span>`}<span>created <${When} time=${o.created_at} /></span>`}>
      ${steers && o.status === 'RUNNING' && html`<button onClick=${() => setAsked('cancel')}>Cancel</button>`}${steers && o.status === 'FAILURE' && html`<button onClick=${() => setAsked('retry')}>Retry</button>`}${steers && html`<button onClick=${() => setAsked('rm')}>Remove</button>`}</${Head}>
    ${error && html`<${Failed} error=${error} retry=${reload} />`}
    ${o.error && html`<section class="failed" aria-label="Error"><strong>${o.error.code}</strong><${Block} text=${o.error.message || ''} label="Message of the error" /></section>`}
    <${Figures} of=${[[count(o.counts.success), 'success'], [count(o.counts.running), 'running'], [count(o.counts.retrying), 'retrying'], [count(o.counts.failure), 'failed'], [count(o.counts.waiting), 'waiting'], [length((o.finished_at ? Date.parse(o.finished_at) : now()) - Date.parse(o.created_at)), ended ? 'from start to end' : 'since it began']]} />
    <section class="panel"><div class="panel-head"><h2>Partitions</h2><span class="note">${count(o.partitions)}, each a square; the arrow keys walk over them</span></div><${Progress} o=${o} /><${PartitionMap} o=${o} namespace=${namespace} /></section>
    <div class="columns">
      ${o.arg !== undefined && html`<section class="panel"><h2>Argument</h2><${Payload} value=${o.arg} label="Argument" /></section>`}
      ${ended && !o.error && html`<section class="panel"><h2>Result</h2><${Payload} value=${o.result} base64=${o.result_base64} label="Result" /></section>`}
    </div>
    <section class="panel"><h2>Record</h2><${Facts} of=${[['Version', html`<${Short} of=${o.version} />`], ['Instance', o.instance], o.object && ['Object', html`<${Text} of=${o.object} max=${100} />`], o.completion && ['Completion', html`<a href=${href(['tasks', o.completion], space)}><${Text} of=${o.completion} max=${128} /></a>`],
      ['Cleanups', `${o.cleanups.made} made, ${o.cleanups.dropped} dropped`], ['Created', html`<${Stamp} time=${o.created_at} />`], o.finished_at && ['Ended', html`<${Stamp} time=${o.finished_at} />`], o.created_by && ['Created by', o.created_by], ['Priority', o.priority]]} /></section>
    ${asked && html`<${Change} verb=${asked} o=${o} path=${path} close=${close} />`}`;
}

function Change({ verb, o, path, close }) {
  const query = inSpace(o.namespace);
  const command = cli(['op', verb, o.id], o);
  if (verb === 'cancel') return html`<${Ask} title="Cancel this operation?" verb="Cancel the operation" danger request=${{ method: 'POST', path: path + '/cancel', query, body: {} }} command=${command} done="Its partitions are being cancelled." close=${close}><p>The partitions that have not ended are cancelled. The completion runs all the same.</p></${Ask}>`;
  if (verb === 'retry') return html`<${Ask} title="Run what failed again?" verb="Retry" request=${{ method: 'POST', path: path + '/retry', query, body: {} }} command=${command} done="What failed runs again." close=${close}><p>Partitions that failed, or the completion, run again.</p></${Ask}>`;
  return html`<${Ask} title="Remove this operation?" verb="Remove for good" danger request=${{ method: 'DELETE', path, query }} command=${command} done="The operation is removed." close=${close}><p>It and all its tasks are deleted; those that run are killed. This cannot be undone.</p></${Ask}>`;
}
