// One action on all tasks that a query selects, by a bulk job (SPEC Q3): counted before anybody is asked.
import { html, useState, useEffect } from '../core/html.js';
import { send } from '../core/api.js';
import { useFeature } from '../core/features.js';
import { useMe, may } from '../core/me.js';
import { go, inSpace, namespaceOf } from '../core/route.js';
import { Ask, cli } from './ask.js';
import { apiQuery, isFiltered } from './filters.js';
import { Failed, count } from './ui.js';

const verbs = {
  cancel: ['Cancel', 'Those that run are told to stop; all that are not final end as CANCELLED.', 'danger'],
  retry: ['Retry', 'Those that have failed become due again.'],
  resubmit: ['Resubmit', 'All become due again; those that run do so when their run ends.'],
  remove: ['Remove', 'Their records go, with results and logs. This cannot be undone.', 'danger'],
};

/** The filters of an address as those of a job. */
export function filterOf(query) {
  const filter = {};
  for (const [name, value] of apiQuery(query)) {
    if (name === 'namespace' || name === 'order') continue;
    if (name === 'final') filter.final = value === 'true';
    else if (['status', 'behavior', 'label', 'error'].includes(name)) (filter[name] ||= []).push(value);
    else filter[name] = value;
  }
  return filter;
}

/** The flags of taskrt that say the same. */
const flags = (filter) => Object.entries(filter).flatMap(([name, value]) => [value].flat().flatMap((one) => ['--' + name.replace(/_/g, '-'), String(one)]));

/** @param {{route: any}} props */
export function Bulk({ route }) {
  const who = useMe();
  const [asked, setAsked] = useState('');
  const namespace = namespaceOf(route);
  const there = useFeature('/v1/tasks:cancel');
  if (!there || !may(who, ['operate', 'submit'], { namespace })) return null;
  const close = (changed) => {
    setAsked('');
    if (changed) go(['jobs'], inSpace(namespace));
  };
  return html`<label class="inline">All that fit <select value="" onChange=${(e) => { setAsked(e.target.value); e.target.value = ''; }}><option value="">do…</option>${Object.entries(verbs).map(([a, [text]]) => html`<option value=${a}>${text}…</option>`)}</select></label>
    ${asked && html`<${AskMany} action=${asked} query=${route.query} namespace=${namespace} close=${close} />`}`;
}

/** Counts what is meant, and asks. */
function AskMany({ action, query, namespace, close }) {
  const [verb, what, danger] = verbs[action];
  const [meant, setMeant] = useState(null);
  const [error, setError] = useState(null);
  const filter = filterOf(query);
  const body = { filter, ...(isFiltered(query) ? {} : { all: true }) };
  const request = { method: 'POST', path: 'v1/tasks:' + action, query: inSpace(namespace), body };
  useEffect(() => {
    send('POST', request.path, { query: request.query, body: JSON.stringify({ ...body, dry_run: true }) }).then((r) => r.json()).then((r) => setMeant(r.matches), setError);
  }, []);
  const words = [action === 'remove' ? 'rm' : action, ...(isFiltered(query) ? flags(filter) : ['--all']), '--yes'];
  return html`<${Ask} title=${`${verb} all that fit?`} verb=${meant === null ? verb : `${verb} ${count(meant)} ${meant === 1 ? 'task' : 'tasks'}`} danger=${!!danger} request=${request} command=${cli(words, { namespace })}
    check=${() => (meant === null ? 'They are being counted.' : meant === 0 ? 'No task is meant.' : '')} done="The job has begun." close=${close}>
    <p>${error ? html`<${Failed} error=${error} />` : html`<strong>${meant === null ? 'Counting…' : `${count(meant)} ${meant === 1 ? 'task is' : 'tasks are'} meant`}</strong> of the namespace ${namespace}. ${what}`}</p>
    <p>What no longer fits when its turn comes is left alone. The job can be ended; what it has done stays done.</p></${Ask}>`;
}

