// One task: what became of it, on one line of time, with all that belongs to it.
import { html, useState, useEffect, useRef } from '../core/html.js';
import { useLoad } from '../core/load.js';
import { follow } from '../core/events.js';
import { href, inSpace, namespaceOf } from '../core/route.js';
import { now, exact } from '../core/clock.js';
import { Actions } from '../parts/actions.js';
import { Commands, cli } from '../parts/ask.js';
import { LogView } from '../parts/logview.js';
import { Payload, Block, Text } from '../parts/text.js';
import { Timeline } from '../parts/timeline.js';
import { Why } from '../parts/why.js';
import { Badge, Copy, Empty, Facts, Failed, Head, Loading, Short, Stamp, When, count, statusOf } from '../parts/ui.js';

export function Task({ route, id }) {
  const namespace = namespaceOf(route);
  const place = `v1/tasks/${encodeURIComponent(id)}`;
  const { data, error, loading, reload } = useLoad(place, inSpace(namespace), { exact: true });
  const [state, seen, removed] = useFollow(namespace, id, reload);
  const t = data?.task;
  const behavior = useLoad(`v1/behaviors/${encodeURIComponent(t?.behavior || '-')}`, inSpace(namespace), { skip: !t });
  if (error && !t) {
    if (error.code === 'task_not_found') return html`<${Head} title=${id} /><${Empty} title="There is no such task"><p>No task of the namespace ${namespace} has this ID: <${Text} of=${id} max=${128} />. It may have been removed, or kept no longer.</p><p><a href=${href(['tasks'], { ...inSpace(namespace), id_prefix: id })}>Look for IDs that begin so</a></p></${Empty}>`;
    return html`<${Head} title="Task" /><${Failed} error=${error} retry=${reload} />`;
  }
  if (!t) return html`<${Head} title="Task" />${loading && html`<${Loading} />`}`;
  const manifest = behavior.data?.behavior?.manifest;
  return html`<${Head} title=${t.id} sub=${html`<${Badge} status=${statusOf(t)} /><a href=${href(['behaviors', t.behavior], inSpace(namespace))}>${t.behavior}</a><span>created <${When} time=${t.created_at} /></span>${!removed && html`<span class="live l-${state}">${state === 'live' ? 'live' : 'reconnecting'}</span>`}<${Copy} text=${t.id} label="Copy ID" />`}>${!removed && html`<${Actions} t=${t} reload=${reload} />`}</${Head}>
    ${removed && html`<div class="failed" role="status"><strong>This task was removed</strong><p>What stands here is what it was.</p></div>`}
    ${error && html`<${Failed} error=${error} retry=${reload} />`}
    <${Outcome} t=${t} />
    ${!t.final && t.status !== 'RUNNING' && html`<${Why} t=${t} />`}
    <section class="panel"><h2>Attempts</h2>${t.attempt || t.lease || !t.final ? html`<${Timeline} t=${t} limits=${manifest?.limits} />` : html`<p class="none">It never ran.</p>`}</section>
    <div class="columns">
      <section class="panel"><h2>Params</h2><${Payload} value=${t.params} base64=${t.params_base64} label="Params" /></section>
      ${t.status === 'SUCCESS' && html`<section class="panel"><h2>Result</h2><${Payload} value=${t.result} base64=${t.result_base64} label="Result" /></section>`}
      ${t.progress !== undefined && html`<section class="panel"><h2>Progress</h2><${Payload} value=${t.progress} label="Progress" /></section>`}
      ${(t.checkpoint !== undefined || t.checkpoint_base64) && html`<section class="panel"><h2>Checkpoint</h2><${Payload} value=${t.checkpoint} base64=${t.checkpoint_base64} label="Checkpoint" /></section>`}
    </div>
    <${LogView} t=${t} />
    <${Children} t=${t} />
    ${seen.length > 0 && html`<${Seen} list=${seen} />`}
    <${Record} t=${t} place=${place} namespace=${namespace} />`;
}

const most = 60; // of what was seen live; older ones go

/** Follows the task. What happens is kept as a short list, because the record says only how things are. */
function useFollow(namespace, id, reload) {
  const [state, setState] = useState('away');
  const [seen, setSeen] = useState([]);
  const [removed, setRemoved] = useState(false);
  const latest = useRef(reload);
  latest.current = reload;
  useEffect(() => {
    let timer = null;
    const soon = () => {
      timer ??= setTimeout(() => {
        timer = null;
        latest.current();
      }, 250);
    };
    const end = follow({ ...inSpace(namespace), id }, (kind, data) => {
      if (kind === 'reset') return;
      if (kind === 'removed') {
        clearTimeout(timer);
        timer = 0; // there is nothing to be asked for any more
        setRemoved(true);
      } else soon();
      setSeen((list) => [...list, { kind, at: now(), t: data.task && { status: statusOf(data.task), attempt: data.task.attempt, worker: data.task.lease?.worker, checkpoint: sizeOf(data.task), lost: data.task.lost_count, code: data.task.error?.code }, progress: kind === 'progress' ? JSON.stringify(data.progress).slice(0, 200) : '' }].slice(-most));
    }, setState);
    return () => {
      clearTimeout(timer);
      end();
    };
  }, [namespace, id]);
  return [state, seen, removed];
}

const sizeOf = (t) => (t.checkpoint_base64 ? t.checkpoint_base64.length : t.checkpoint === undefined ? 0 : JSON.stringify(t.checkpoint).length);

function Outcome({ t }) {
  if (t.status !== 'FAILURE') return null;
  const e = t.error;
  return html`<section class="failed" aria-label="Error"><strong><${Text} of=${e.code} max=${64} /></strong>
    <${Block} text=${e.message || ''} label="Message of the error" />
    <p class="note">${t.final ? 'It will not run again by itself.' : html`It will be tried again <${When} time=${t.not_before} />.`} ${e.retryable ? '' : 'The error says that another try would not help.'}</p>
    ${e.details !== undefined && html`<details><summary>Details</summary><${Payload} value=${e.details} label="Details of the error" /></details>`}</section>`;
}

function Children({ t }) {
  const query = { ...inSpace(t.namespace), parent: t.id, limit: 10, count: true, order: 'desc', fields: ['id', 'status', 'final', 'behavior', 'created_at'] };
  const { data } = useLoad('v1/tasks', query, { every: t.final ? 0 : 10e3 });
  if (!data?.tasks?.length) return null;
  return html`<section class="panel"><div class="panel-head"><h2>Child tasks (${count(data.count)}${data.count_more ? ' or more' : ''})</h2><a href=${href(['tasks'], { ...inSpace(t.namespace), parent: t.id })}>All of them</a></div>
    <div class="table-box plain" tabindex="0" role="region" aria-label="Child tasks"><table class="list"><thead><tr><th scope="col">Status</th><th scope="col">Task</th><th scope="col">Behavior</th><th scope="col">Created</th></tr></thead><tbody>${data.tasks.map((c) => html`<tr key=${c.id}><td><${Badge} status=${statusOf(c)} /></td><td class="main-cell"><a href=${href(['tasks', c.id], inSpace(t.namespace))}>${c.id}</a></td><td>${c.behavior}</td><td><${When} time=${c.created_at} /></td></tr>`)}</tbody></table></div></section>`;
}

/** What happened while the page was open. */
const Seen = ({ list }) => html`<section class="panel"><h2>Seen since this page was opened</h2><ol class="seen">${list.map((s) => html`<li><time title=${exact(new Date(s.at).toISOString())}>${new Date(s.at).toLocaleTimeString()}</time>
  ${s.kind === 'removed' ? 'removed' : s.kind === 'progress' ? html`progress <code><${Text} of=${s.progress} max=${160} /></code>` : html`<${Badge} status=${s.t.status} /> attempt ${s.t.attempt}${s.t.worker ? html` by <${Text} of=${s.t.worker} max=${60} />` : ''}${s.t.checkpoint ? `, checkpoint of ${count(s.t.checkpoint)} characters` : ''}${s.t.lost ? `, ${s.t.lost} lost` : ''}${s.t.code ? html`, <code>${s.t.code}</code>` : ''}`}</li>`)}</ol></section>`;

function Record({ t, place, namespace }) {
  return html`<section class="panel"><h2>Record</h2><${Facts} of=${[
    ['Namespace', t.namespace], ['Version', t.version ? html`<${Short} of=${t.version} />` : 'the active one'], ['Priority', t.priority], ['Attempts', t.attempt], ['Rev', count(t.rev)],
    ['Created', html`<${Stamp} time=${t.created_at} />`], t.started_at && ['Last start', html`<${Stamp} time=${t.started_at} />`], t.finished_at && ['Last outcome', html`<${Stamp} time=${t.finished_at} />`],
    t.not_before && ['Not before', html`<${Stamp} time=${t.not_before} />`], t.deadline && ['Deadline', html`<${Stamp} time=${t.deadline} />`],
    t.parent && ['Parent', html`<a href=${href([t.partition === undefined ? 'tasks' : 'operations', t.parent], inSpace(namespace))}><${Text} of=${t.parent} max=${128} /></a>`], t.partition !== undefined && ['Partition', html`<${Text} of=${t.partition} max=${128} />`],
    t.created_by && ['Created by', t.created_by], t.resubmit && ['Asked to run again', html`<${Stamp} time=${t.resubmit.not_before} />`], t.cancel_requested && ['Cancel', 'asked for'],
    Object.keys(t.labels || {}).length > 0 && ['Labels', Object.entries(t.labels).map(([k, v]) => html`<a class="label" href=${href(['tasks'], { ...inSpace(namespace), label: k + '=' + v })}><${Text} of=${k + '=' + v} max=${80} /></a> `)],
  ]} />
    <${Commands} request=${{ method: 'GET', path: place, query: inSpace(namespace) }} command=${cli(['get', t.id], t)} /></section>`;
}
