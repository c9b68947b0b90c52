// What a module says of itself, read from its bytes: no code of it is compiled or run. The cluster checks all of it again.
const magic = 0x0061736d; // "\0asm"
const most = 1 << 20; // bytes of a manifest that are looked at

export const noModule = 'The file does not begin as a module of WebAssembly does.';

export const isModule = (buffer) => buffer.byteLength >= 8 && new DataView(buffer).getUint32(0) === magic;

/** A reader of the binary format. */
class Bytes {
  constructor(bytes, at = 0, end = bytes.length) {
    Object.assign(this, { bytes, at, end });
  }

  get more() { return this.at < this.end; }

  byte() {
    if (this.at >= this.end) throw new Error('The module ends early.');
    return this.bytes[this.at++];
  }

  number() {
    let n = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const b = this.byte();
      n += (b & 127) * 2 ** shift;
      if (b < 128) return n;
    }
    throw new Error('A number of the module does not end.');
  }

  /** The next n bytes, as a reader of their own. */
  part(n) {
    if (n > this.end - this.at) throw new Error('The module ends early.');
    const part = new Bytes(this.bytes, this.at, this.at + n);
    this.at += n;
    return part;
  }

  text(part = this.part(this.number())) { return new TextDecoder().decode(part.bytes.subarray(part.at, part.end)); }

  limits() {
    const flags = this.byte();
    const min = this.number();
    return { min, max: flags & 1 ? this.number() : undefined };
  }
}

/**
 * @param {ArrayBuffer} buffer
 * @returns {{abi: string[], imports: string[], exports: string[], memory?: {min: number, max?: number}, manifest?: string}} imports are modules;
 * memory counts pages of 64 KiB. What is no module is an Error.
 */
export function readModule(buffer) {
  if (!isModule(buffer)) throw new Error(noModule);
  const all = new Bytes(new Uint8Array(buffer), 8);
  const found = { imports: new Set(), exports: [], memory: undefined, manifest: undefined };
  while (all.more) {
    const id = all.byte();
    const section = all.part(all.number());
    if (id === 0) custom(section, found);
    if (id === 2) imports(section, found);
    if (id === 5 && section.number() > 0) found.memory = section.limits();
    if (id === 7) exported(section, found);
  }
  const names = [...found.imports].sort();
  return { ...found, imports: names, abi: names.filter((n) => /^taskrt_v\d+$/.test(n)) };
}

function custom(section, found) {
  if (section.text() !== 'taskrt.manifest' || found.manifest !== undefined) return;
  if (section.end - section.at > most) throw new Error('The manifest is too long.');
  found.manifest = section.text(section);
}

function imports(section, found) {
  for (let n = section.number(); n > 0; n--) {
    found.imports.add(section.text());
    section.text();
    const kind = section.byte();
    if (kind === 0) section.number();
    else if (kind === 1) { section.byte(); section.limits(); }
    else if (kind === 2) found.memory = section.limits();
    else if (kind === 3) { section.byte(); section.byte(); }
    else { section.byte(); section.number(); }
  }
}

function exported(section, found) {
  for (let n = section.number(); n > 0; n--) {
    found.exports.push(section.text());
    section.byte();
    section.number();
  }
}
