// The search: sections in which all words stand, those first whose heading has them. search-index.js has set searchIndex.
(function () {
  const most = 40;
  const around = 90; // characters of an excerpt before and after a word
  const sections = globalThis.searchIndex.map(([file, page, anchor, heading, text]) => ({
    file, page, anchor, heading, text, lowHeading: heading.toLowerCase(), lowPage: page.toLowerCase(), lowText: text.toLowerCase(),
  }));

  // Words of a question that say nothing of what is looked for.
  const idle = new Set('a an and are at be by can do does for from how i if in into is it my of on or that the there this to was what when where which who with'.split(' '));

  /** The words of a query: codes, flags and paths stay whole. */
  function wordsOf(query) {
    const words = [...new Set(query.split(/[\s,;"'`()]+/).map((w) => w.replace(/^-+|[.:?!]+$/g, '')).filter(Boolean))];
    const telling = words.filter((w) => !idle.has(w));
    return (telling.length ? telling : words).slice(0, 12);
  }

  const inWord = (c) => c !== undefined && /[\p{L}\p{N}_]/u.test(c);

  /** How well a word stands in a text: 3 as a whole word, 2 at the beginning of one, 1 inside one, 0 nowhere. */
  function fit(text, word) {
    let best = 0;
    for (let at = text.indexOf(word), looked = 0; at >= 0 && best < 3 && looked < 50; at = text.indexOf(word, at + 1), looked++) {
      const begins = !inWord(text[at - 1]);
      const ends = !inWord(text[at + word.length]);
      best = Math.max(best, begins && ends ? 3 : begins ? 2 : 1);
    }
    return word.length < 3 && best < 3 ? 0 : best;
  }

  function times(text, word) {
    let n = 0;
    for (let at = text.indexOf(word); at >= 0 && n < 5; at = text.indexOf(word, at + word.length)) n++;
    return n;
  }

  /** Where most of the words stand close to each other, and how many they are. */
  function closest(text, words) {
    let best = 0;
    let most = 0;
    for (const w of words) {
      for (let at = text.indexOf(w), looked = 0; at >= 0 && looked < 20; at = text.indexOf(w, at + 1), looked++) {
        const window = text.slice(Math.max(0, at - around), at + around);
        const n = words.filter((other) => window.includes(other)).length + (inWord(text[at - 1]) ? 0 : 0.5);
        if (n > most) [most, best] = [n, at];
      }
    }
    return { best, most };
  }

  function score(s, words, query) {
    let sum = 0;
    let missing = 0;
    for (const w of words) {
      const heading = fit(s.lowHeading, w);
      const page = fit(s.lowPage, w);
      const text = fit(s.lowText, w);
      if (!heading && !page && !text) missing++;
      sum += 12 * heading + 3 * page + 2 * text + times(s.lowText, w) * 800 / (800 + s.lowText.length);
    }
    sum += 8 * closest(s.lowText, words).most;
    if (s.lowHeading === query) sum += 100;
    else if (words.length > 1 && (s.lowHeading + ' ' + s.lowText).includes(query)) sum += 20;
    if (!s.anchor) sum *= 1.1; // a page before its sections
    return { s, sum, missing };
  }

  function search(text) {
    const query = text.trim().toLowerCase();
    const words = wordsOf(query);
    if (!words.length) return { words, hits: [], all: true };
    const scored = sections.map((s) => score(s, words, query)).filter((h) => h.missing < words.length);
    const whole = scored.filter((h) => !h.missing);
    const hits = whole.length ? whole : scored.filter((h) => h.missing === 1 || h.missing * 2 <= words.length);
    hits.sort((a, b) => a.missing - b.missing || b.sum - a.sum); // equal ones stay in the order of the pages
    return { words, hits, all: whole.length > 0 };
  }

  /** A text with its words marked. */
  function marked(text, words) {
    const out = document.createDocumentFragment();
    const low = text.toLowerCase();
    let from = 0;
    while (from < text.length) {
      let at = -1;
      let length = 0;
      for (const w of words) {
        let i = low.indexOf(w, from);
        while (i > 0 && inWord(low[i - 1])) i = low.indexOf(w, i + 1);
        if (i >= 0 && (at < 0 || i < at || (i === at && w.length > length))) [at, length] = [i, w.length];
      }
      if (at < 0) break;
      out.append(text.slice(from, at));
      const mark = document.createElement('mark');
      mark.textContent = text.slice(at, at + length);
      out.append(mark);
      from = at + length;
    }
    out.append(text.slice(from));
    return out;
  }

  /** The part of a text in which most of the words stand close to each other. */
  function excerpt(s, words) {
    const { best } = closest(s.lowText, words);
    let from = Math.max(0, best - around);
    let to = Math.min(s.text.length, best + 2 * around);
    while (from > 0 && s.text[from - 1] !== ' ') from--;
    while (to < s.text.length && s.text[to] !== ' ') to++;
    return (from ? '… ' : '') + s.text.slice(from, to) + (to < s.text.length ? ' …' : '');
  }

  const field = document.getElementById('q');
  const list = document.getElementById('results');
  const found = document.getElementById('found');

  function show() {
    const { words, hits, all } = search(field.value);
    list.replaceChildren(...hits.slice(0, most).map(({ s }) => {
      const item = document.createElement('li');
      const link = document.createElement('a');
      link.href = s.file + (s.anchor ? '#' + s.anchor : '');
      link.append(marked(s.heading, words));
      item.append(link);
      if (s.anchor) {
        const where = document.createElement('span');
        where.className = 'where';
        where.textContent = s.page;
        item.append(' ', where);
      }
      if (s.text) {
        const text = document.createElement('p');
        text.append(marked(excerpt(s, words), words));
        item.append(text);
      }
      return item;
    }));
    found.textContent = !words.length ? 'Type words, codes, flags or names of metrics.'
      : !hits.length ? 'Nothing has been found.'
        : (hits.length === 1 ? '1 place' : hits.length + ' places') + (hits.length > most ? ', the best ' + most + ' of them' : '') + (all ? '' : '; no place has all of the words');
  }

  const form = document.getElementById('find');
  field.value = new URLSearchParams(location.search).get('q') || '';
  const remember = () => {
    try {
      history.replaceState(null, '', '?' + new URLSearchParams({ q: field.value }));
    } catch {
      // A page that was opened as a file may keep its address.
    }
  };
  field.addEventListener('input', () => { show(); remember(); });
  form.addEventListener('submit', (e) => { e.preventDefault(); show(); remember(); list.querySelector('a')?.focus(); });

  // The arrow keys walk through what was found.
  addEventListener('keydown', (e) => {
    if ((e.key !== 'ArrowDown' && e.key !== 'ArrowUp') || e.target.tagName === 'SELECT') return;
    const links = [...list.querySelectorAll('a')];
    const at = links.indexOf(document.activeElement);
    if (!links.length || (at < 0 && document.activeElement !== field)) return;
    e.preventDefault();
    const next = e.key === 'ArrowDown' ? at + 1 : at - 1;
    if (next < 0) field.focus();
    else links[Math.min(next, links.length - 1)].focus();
  });

  show();
  if (!field.value) field.focus();
})();
