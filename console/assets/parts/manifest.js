// What an upload says of itself, before it is sent: its behaviors, what it asks of the cluster, and within which limits.
import { html } from '../core/html.js';
import { Payload, Text } from './text.js';
import { Facts, brief, size } from './ui.js';

const shown = 20;

/** @param {{module: any, manifest: any, name: string}} props module is of readModule; manifest is parsed, or nothing where there is none */
export function Said({ module, manifest, name }) {
  const behaviors = Array.isArray(manifest?.behaviors) ? manifest.behaviors : [];
  const requires = Array.isArray(manifest?.requires) ? manifest.requires : [];
  return html`<section class="said" aria-label="What the module says"><h3>What the module says</h3>
    <${Facts} of=${[
      ['ABI', module.abi.length ? module.abi.join(', ') : module.exports.includes('_start') ? 'none: a WASI command' : 'none'],
      ['Capabilities', requires.length ? html`<${Text} of=${requires.join(', ')} />` : 'none'],
      ['Memory at first', module.memory ? size(module.memory.min * 65536) : '—'],
      ['Behaviors', manifest ? String(behaviors.length) : '—'],
    ]} />
    ${!manifest && html`<p class="note">${module.exports.includes('taskrt_describe') ? 'The file has no manifest: the cluster runs the module to ask for it.' : html`The file has no manifest: it is one behavior with the name below and the default limits.`}</p>`}
    ${behaviors.slice(0, shown).map((b) => html`<${Behavior} b=${b || {}} name=${behaviors.length === 1 && name ? name : b?.name} open=${behaviors.length === 1} />`)}
    ${behaviors.length > shown && html`<p class="note">And ${behaviors.length - shown} more.</p>`}
  </section>`;
}

function Behavior({ b, name, open }) {
  const limits = b.limits && typeof b.limits === 'object' ? b.limits : {};
  const facts = [
    limits.memory_bytes !== undefined && ['Memory', size(Number(limits.memory_bytes))], limits.fuel !== undefined && ['Fuel', brief(Number(limits.fuel))],
    b.run_timeout && ['Run at most', html`<${Text} of=${b.run_timeout} max=${40} />`], b.retry?.max_attempts !== undefined && ['Attempts', String(b.retry.max_attempts)],
    b.max_concurrent !== undefined && ['At a time', String(b.max_concurrent)], b.repeat_every && ['Repeats every', html`<${Text} of=${b.repeat_every} max=${40} />`],
  ].filter(Boolean);
  return html`<details open=${open}><summary><strong><${Text} of=${name || '(the name below)'} max=${128} /></strong>${b.description && html` <${Text} of=${b.description} max=${200} class="none" />`}</summary>
    ${facts.length > 0 ? html`<${Facts} of=${facts} />` : html`<p class="none">The default limits.</p>`}
    ${b.params_schema !== undefined && html`<p>Its params:</p><${Payload} value=${b.params_schema} label="Schema of the params" />`}</details>`;
}
