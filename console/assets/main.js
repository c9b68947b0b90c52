// The console: which page is shown where.
import { html, render, useState, useEffect, useErrorBoundary } from './core/html.js';
import { useRoute } from './core/route.js';
import { askMe, useMe } from './core/me.js';
import { Shell } from './parts/shell.js';
import { SignIn } from './parts/signin.js';
import { Failed, Empty, Loading } from './parts/ui.js';
import { Note } from './parts/ask.js';
import { Tasks } from './pages/tasks.js';
import { Task } from './pages/task.js';
import { Failures } from './pages/failures.js';
import { Behaviors } from './pages/behaviors.js';
import { Behavior } from './pages/behavior.js';
import { Workers } from './pages/workers.js';
import { Cluster } from './pages/cluster.js';
import { Submit } from './pages/submit.js';
import { Operations } from './pages/operations.js';
import { Jobs } from './pages/jobs.js';
import { Operation } from './pages/operation.js';
import { Namespaces } from './pages/namespaces.js';
import { Maintenance, Backups } from './pages/upkeep.js';
import { Tokens, Audit } from './pages/access.js';

/** Pages by the beginning of their path: the list, and one of its entries. */
const pages = new Map([
  ['tasks', [Tasks, Task]], ['failures', [Failures]], ['behaviors', [Behaviors, Behavior]], ['workers', [Workers]], ['cluster', [Cluster]],
  ['operations', [Operations, Operation]], ['submit', [Submit]], ['jobs', [Jobs]], ['namespaces', [Namespaces]], ['maintenance', [Maintenance]], ['backups', [Backups]], ['tokens', [Tokens]], ['audit', [Audit]],
]);

function App() {
  const who = useMe();
  const [error, setError] = useState(null);
  const ask = () => {
    setError(null);
    askMe().catch(setError);
  };
  useEffect(() => { if (who.state === 'asking') ask(); }, [who.state]);
  return html`${who.state === 'asking'
    ? html`<div class="boot">${error ? html`<${Failed} error=${error} retry=${ask} />` : html`<${Loading} />`}</div>`
    : html`<${Shell} pages=${pages}><${Page} /></${Shell}>`}<${SignIn} /><${Note} />`;
}

function Page() {
  const route = useRoute();
  const [broken, reset] = useErrorBoundary((e) => console.error(e));
  useEffect(() => { if (broken) reset(); }, [route.path.join('/')]);
  if (broken) return html`<${Empty} title="This page is broken"><p>That is a fault of the console: ${String(broken.message).slice(0, 300)}</p><button onClick=${reset}>Try again</button></${Empty}>`;
  const [first = 'tasks', second] = route.path;
  const [List, One] = pages.get(first) || [];
  const Shown = second && One ? One : List;
  if (!Shown) return html`<${Empty} title="There is no such page"><p><a href="#/tasks">To the tasks</a></p></${Empty}>`;
  return html`<${Shown} key=${first + '/' + (second || '')} route=${route} id=${second} />`;
}

const root = document.getElementById('app');
root.replaceChildren();
render(html`<${App} />`, root);
