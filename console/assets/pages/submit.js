// A new task: its params by a form where the behavior has a schema, else as JSON.
import { html, useState, useEffect } from '../core/html.js';
import { change } from '../core/api.js';
import { useLoad } from '../core/load.js';
import { go, goQuery, inSpace, namespaceOf } from '../core/route.js';
import { Commands, cli, tell } from '../parts/ask.js';
import { SchemaForm, begin, isForm, read } from '../parts/schemaform.js';
import { Payload } from '../parts/text.js';
import { Empty, Failed, Head } from '../parts/ui.js';

export function Submit({ route }) {
  const namespace = namespaceOf(route);
  const space = inSpace(namespace);
  const name = route.query.get('behavior') || '';
  const list = useLoad('v1/behaviors', space);
  const one = useLoad(`v1/behaviors/${encodeURIComponent(name)}`, space, { skip: !name });
  const schema = name ? one.data?.behavior?.manifest?.params_schema : undefined;
  const behaviors = list.data?.behaviors || [];
  return html`<${Head} title="Submit a task" sub=${html`<span>in the namespace ${namespace}; what is accepted survives the loss of any node</span>`} />
    ${list.error && html`<${Failed} error=${list.error} retry=${list.reload} />`}
    ${list.data && !behaviors.length && html`<${Empty} title="There is nothing to run yet"><p>Upload a module first, or define a behavior for programs of yours.</p></${Empty}>`}
    ${behaviors.length > 0 && html`<section class="panel form submit"><label for="behavior">Behavior</label>
      <select id="behavior" value=${name} onChange=${(e) => goQuery({ ...space, behavior: e.target.value })}><option value="" selected=${!name}>choose one</option>${behaviors.map((b) => html`<option value=${b.name} selected=${b.name === name}>${b.name}${b.paused ? ' (paused)' : ''}</option>`)}</select>
      ${one.error && html`<${Failed} error=${one.error} />`}
      ${name && one.data && html`<${Task} key=${name} name=${name} schema=${schema} description=${one.data.behavior.manifest?.description} namespace=${namespace} />`}</section>`}`;
}

function Task({ name, schema, description, namespace }) {
  const formed = isForm(schema);
  const [asJSON, setAsJSON] = useState(!formed);
  const [values, setValues] = useState(formed ? begin(schema) : {});
  const [text, setText] = useState('');
  const [f, setF] = useState({ id: '', delay: '', labels: '', priority: '', if_exists: '' });
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const said = asJSON ? readJSON(text) : read(schema, values);
  const labels = readLabels(f.labels);
  const body = {
    ...(namespace === 'default' ? {} : { namespace }), behavior: name, ...(said.params === undefined ? {} : { params: said.params }), ...(f.id.trim() ? { id: f.id.trim() } : {}), ...(f.delay.trim() ? { delay: f.delay.trim() } : {}),
    ...(labels ? { labels } : {}), ...(f.priority === '' ? {} : { priority: Number(f.priority) }), ...(f.if_exists ? { if_exists: f.if_exists } : {}),
  };
  const words = ['submit', name, ...(said.params === undefined ? [] : ['--params', JSON.stringify(said.params)]), ...(body.id ? ['--id', body.id] : []), ...(body.delay ? ['--delay', body.delay] : []),
    ...Object.entries(labels || {}).flatMap(([k, v]) => ['--label', `${k}=${v}`]), ...(f.priority === '' ? [] : ['--priority', f.priority]), ...(f.if_exists ? ['--if-exists', f.if_exists] : [])];
  const submit = async (e) => {
    e.preventDefault();
    if (said.wrong) {
      setError({ code: 'invalid', message: said.wrong });
      return;
    }
    setBusy(true);
    setError(null);
    try {
      const answer = await change('POST', 'v1/tasks', { body });
      tell({ created: 'The task was created.', existing: 'This is the task that was there already.', existing_other_params: 'A task with this ID was there already, with other params.', updated: 'The task was updated.' }[answer.outcome] || 'Submitted.');
      go(['tasks', answer.task.id], inSpace(namespace));
    } catch (err) {
      setError(err);
      setBusy(false);
    }
  };
  useEffect(() => setError(null), [asJSON]);
  const field = (id, label, hint) => html`<label for=${id}>${label} <span class="none">(${hint})</span></label><input id=${id} value=${f[id]} onInput=${(e) => setF({ ...f, [id]: e.target.value })} autocomplete="off" spellcheck="false" />`;
  return html`<form onSubmit=${submit}>${description && html`<p class="note">${description}</p>`}
    ${formed && html`<p class="check"><input type="checkbox" id="as-json" checked=${asJSON} onChange=${(e) => { if (e.target.checked && !said.wrong) setText(JSON.stringify(said.params, null, 2)); setAsJSON(e.target.checked); }} /><label for="as-json">Write the params as JSON</label></p>`}
    ${asJSON ? html`<label for="params">Params <span class="none">(JSON; empty: none)</span></label><textarea id="params" rows="8" spellcheck="false" value=${text} onInput=${(e) => setText(e.target.value)}></textarea>` : html`<${SchemaForm} schema=${schema} values=${values} set=${setValues} />`}
    <details><summary>ID, time, labels, priority</summary>
      ${field('id', 'ID', 'empty: the behavior decides')}${field('delay', 'Delay', 'like 30s or 1h30m; empty: now')}${field('labels', 'Labels', 'name=value, with spaces between')}
      <label for="priority">Priority <span class="none">(0 to 9; empty: 4)</span></label><input id="priority" type="number" min="0" max="9" step="1" value=${f.priority} onInput=${(e) => setF({ ...f, priority: e.target.value })} />
      <label for="if-exists">If a task with this ID is there</label><select id="if-exists" value=${f.if_exists} onChange=${(e) => setF({ ...f, if_exists: e.target.value })}>${[['', 'join it'], ['fail', 'refuse'], ['rerun', 'run it again if it has ended'], ['resubmit', 'make it due again']].map(([v, t]) => html`<option value=${v} selected=${v === f.if_exists}>${t}</option>`)}</select></details>
    ${error && html`<${Failed} error=${error.field ? { ...error, code: error.code, message: `${error.field}: ${error.message}` } : error} />`}
    <${Commands} request=${{ method: 'POST', path: 'v1/tasks', body }} command=${cli(words, { namespace })} />
    ${schema && html`<details><summary>The schema of the params</summary><${Payload} value=${schema} label="Schema" /></details>`}
    <div class="buttons"><button class="primary" disabled=${busy}>${busy ? 'Working…' : 'Submit'}</button></div></form>`;
}

function readJSON(text) {
  if (!text.trim()) return {};
  try {
    return { params: JSON.parse(text) };
  } catch (e) {
    return { wrong: 'The params are not JSON: ' + e.message };
  }
}

function readLabels(text) {
  const pairs = text.split(/\s+/).filter((p) => p.includes('='));
  return pairs.length ? Object.fromEntries(pairs.map((p) => [p.slice(0, p.indexOf('=')), p.slice(p.indexOf('=') + 1)])) : null;
}
