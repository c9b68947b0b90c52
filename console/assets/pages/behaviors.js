// What may be run: behaviors, each with what its tasks do now.
import { html, useEffect, useState } from '../core/html.js';
import { get } from '../core/api.js';
import { useLoad } from '../core/load.js';
import { href, inSpace, namespaceOf } from '../core/route.js';
import { useMe, may } from '../core/me.js';
import { Table } from '../parts/table.js';
import { Text } from '../parts/text.js';
import { Upload } from '../parts/upload.js';
import { Badge, Empty, Failed, Head, Loading, Short, When, count } from '../parts/ui.js';

const most = 200; // behaviors whose tasks are counted

export function Behaviors({ route }) {
  const namespace = namespaceOf(route);
  const who = useMe();
  const [uploading, setUploading] = useState(false);
  const { data, error, loading, reload } = useLoad('v1/behaviors', inSpace(namespace), { every: 15e3 });
  const all = data?.behaviors || [];
  const stats = useStats(namespace, all);
  const figure = (name) => (b) => (stats[b.name] ? (stats[b.name][name] ? count(stats[b.name][name]) : html`<span class="none">0</span>`) : html`<span class="none">…</span>`);
  const deploys = may(who, 'deploy', { namespace });
  return html`<${Head} title="Behaviors" sub=${data && html`<span>${count(all.length)} in ${namespace}</span>`}>${deploys && html`<button class="primary" onClick=${() => setUploading(true)}>Upload a module</button>`}</${Head}>
    ${error && html`<${Failed} error=${error} retry=${reload} />`}${!data && loading && html`<${Loading} />`}
    ${data && !all.length && html`<${Empty} title="No behaviors yet"><p>A behavior is what tasks do: a module of WebAssembly, or a program of yours that accepts tasks over HTTP.</p><pre class="command">taskrt push wordcount.wasm</pre></${Empty}>`}
    ${all.length > 0 && html`<${Table} label="Behaviors" rows=${all} id=${(b) => b.name} columns=${[
      ['Behavior', (b) => html`<a href=${href(['behaviors', b.name], inSpace(namespace))}><${Text} of=${b.name} max=${128} /></a>`, 'main-cell'],
      ['', (b) => b.paused && html`<${Badge} status="PAUSED" />`], ['Kind', (b) => b.kind], ['Version', (b) => (b.version ? html`<${Short} of=${b.version} />` : html`<span class="none">—</span>`)],
      ['Due', figure('due'), 'num'], ['Later', figure('delayed'), 'num'], ['Running', figure('running'), 'num'], ['Retrying', figure('retrying'), 'num'],
      ['Oldest due', (b) => html`<${When} time=${stats[b.name]?.oldest} none="—" />`],
    ]} />`}
    ${uploading && html`<${Upload} namespace=${namespace} close=${(changed) => { setUploading(false); if (changed) reload(); }} />`}`;
}

/** Counts the tasks of behaviors, four at a time. */
function useStats(namespace, all) {
  const [stats, setStats] = useState({});
  const names = all.slice(0, most).map((b) => b.name).join(' ');
  useEffect(() => {
    if (!names) return undefined;
    const end = new AbortController();
    const left = names.split(' ');
    const work = async () => {
      for (let name = left.shift(); name && !end.signal.aborted; name = left.shift()) {
        try {
          const one = await get(`v1/behaviors/${encodeURIComponent(name)}/stats`, inSpace(namespace), { signal: end.signal });
          setStats((s) => ({ ...s, [name]: one }));
        } catch {
          // It is not counted; the rest is.
        }
      }
    };
    for (let i = 0; i < 4; i++) work();
    return () => end.abort();
  }, [namespace, names, all]);
  return stats;
}
