// Text of others: it is shown as text, cannot turn round what stands beside it, and hides nothing.
import { html, useState } from '../core/html.js';

// Controls, what changes the direction of text, what has no width, and halves of characters.
const odd = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** The text in pieces; what cannot be seen stands as its number. */
export function pieces(text) {
  const list = [];
  let from = 0;
  for (const m of text.matchAll(odd)) {
    if (m.index > from) list.push(text.slice(from, m.index));
    list.push(html`<span class="odd">${'\\u' + m[0].charCodeAt(0).toString(16).padStart(4, '0')}</span>`);
    from = m.index + 1;
  }
  list.push(text.slice(from));
  return list;
}

/** One line of text; what is longer than max is cut, and the whole stands in the title. */
export function Text({ of, max = 300, class: name = '' }) {
  const text = String(of ?? '');
  if (text.length <= max) return html`<bdi class="text ${name}">${pieces(text)}</bdi>`;
  return html`<bdi class="text ${name}" title=${text.slice(0, 2000).replace(odd, '·')}>${pieces(text.slice(0, max))}…</bdi>`;
}

/** A block of text that keeps its lines. A long one begins short. */
export function Block({ text, max = 8000, tail = false, label }) {
  const [whole, setWhole] = useState(false);
  const long = text.length > max;
  const shown = whole || !long ? text : tail ? text.slice(-max) : text.slice(0, max);
  const lines = shown.split('\n');
  return html`<div class="block">
    <pre tabindex="0" role="region" aria-label=${label}><bdi class="text">${lines.map((line, i) => html`${i ? '\n' : ''}<bdi>${pieces(line)}</bdi>`)}</bdi></pre>
    ${long && html`<button class="quiet" onClick=${() => setWhole(!whole)}>
      ${whole ? 'Show less' : `Show all ${text.length.toLocaleString()} characters`}${tail && !whole ? ' (this is the end)' : ''}
    </button>`}
  </div>`;
}

/** A value of JSON, or bytes as base64. */
export function Payload({ value, base64, label }) {
  if (value === undefined && base64 === undefined) return html`<p class="none">None.</p>`;
  if (base64 !== undefined) {
    return html`<p class="note">Bytes, no JSON: ${Math.floor((base64.length * 3) / 4).toLocaleString()}, here as base64.</p><${Block} text=${base64} label=${label} />`;
  }
  return html`<${Block} text=${JSON.stringify(value, null, 2)} label=${label} />`;
}
