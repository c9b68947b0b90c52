// What fails: groups by behavior, version and code (SPEC Q2), each a query away from its tasks.
import { html } from '../core/html.js';
import { useLoad } from '../core/load.js';
import { href, inSpace, namespaceOf } from '../core/route.js';
import { Figures, Table } from '../parts/table.js';
import { Text } from '../parts/text.js';
import { Empty, Failed, Head, Loading, Short, When, count } from '../parts/ui.js';

export function Failures({ route }) {
  const namespace = namespaceOf(route);
  const space = inSpace(namespace);
  const { data, error, loading, reload } = useLoad('v1/failures', { ...space, limit: 500 }, { every: 5000 });
  const groups = data?.groups || [];
  const sum = (name) => groups.reduce((n, g) => n + g[name], data?.other?.[name] || 0);
  const tasks = (g, status) => href(['tasks'], { ...space, behavior: g.behavior, error: g.code, status });
  return html`<${Head} title="Failures" sub=${html`<span>what is a failure now, in ${namespace}, by behavior, version and code</span>`} />
    ${error && html`<${Failed} error=${error} retry=${reload} />`}${!data && loading && html`<${Loading} />`}
    ${data && !groups.length && html`<${Empty} title="Nothing has failed"><p>No task of this namespace is a failure now.</p></${Empty}>`}
    ${groups.length > 0 && html`<${Figures} of=${[[count(sum('final')), 'given up'], [count(sum('retrying')), 'will be retried'], [count(groups.length), groups.length === 1 ? 'group' : 'groups']]} />
    <${Table} label="Failures" rows=${groups} id=${(g) => [g.behavior, g.version, g.code].join(' ')} columns=${[
      ['Code', (g) => html`<code class="err"><${Text} of=${g.code} max=${64} /></code>`], ['Behavior', (g) => html`<a href=${href(['behaviors', g.behavior], space)}><${Text} of=${g.behavior} max=${128} /></a>`], ['Version', (g) => html`<${Short} of=${g.version} />`],
      ['Given up', (g) => (g.final ? html`<a href=${tasks(g, 'DEAD')}>${count(g.final)}</a>` : html`<span class="none">0</span>`), 'num'], ['Retrying', (g) => (g.retrying ? html`<a href=${tasks(g, 'RETRYING')}>${count(g.retrying)}</a>` : html`<span class="none">0</span>`), 'num'],
      ['First', (g) => html`<${When} time=${g.first_at} />`], ['Last', (g) => html`<${When} time=${g.last_at} />`], ['Sample', (g) => g.sample && html`<a href=${href(['tasks', g.sample], space)}><${Text} of=${g.sample} max=${24} /></a>`],
    ]} />`}`;
}
