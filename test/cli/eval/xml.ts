/** An element of an XML document; its text is checked and left out. */
export interface Element {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: Element[];
}

const TAG = /^\s*<(\/?)([A-Za-z-]+)((?:\s+[\w-]+="(?:[^<&"]|&(?:amp|lt|gt|quot|apos|#\d+);)*")*)\s*(\/?)>/;
const TEXT = /^(?:[^<&]|&(?:amp|lt|gt|quot|apos|#\d+);)*/;
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** Reads the documents of this package by the grammar of XML 1.0, and refuses everything else. @throws Error */
export function parseXml(text: string): Element {
  if (/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u.test(text)) throw new Error('No character of XML 1.0');
  const [head] = /^<\?xml version="1\.0" encoding="UTF-8"\?>\n/.exec(text) ?? [];
  if (head === undefined) throw new Error('No declaration');
  const root: Element = { name: '', attributes: {}, children: [] };
  const open = [root];
  let rest = text.slice(head.length);
  while (rest.trim() !== '') {
    const [whole, closes, name = '', attributes = '', isEmpty] = TAG.exec(rest) ?? [];
    if (whole === undefined) throw new Error(`No tag: ${rest.slice(0, 80)}`);
    rest = rest.slice(whole.length);
    if (closes) {
      if (open.pop()?.name !== name) throw new Error(`</${name}> closes nothing`);
      continue;
    }
    const element: Element = { name, attributes: readAttributes(attributes), children: [] };
    open.at(-1)?.children.push(element);
    if (isEmpty) continue;
    open.push(element);
    rest = rest.slice((TEXT.exec(rest)?.[0] ?? '').length);
  }
  const [only, ...others] = root.children;
  if (open.length !== 1 || only === undefined || others.length > 0) throw new Error('Not one root that is closed');
  return only;
}

function readAttributes(text: string): Record<string, string> {
  const attributes: Record<string, string> = {};
  for (const [, name = '', value = ''] of text.matchAll(/([\w-]+)="([^"]*)"/g)) {
    if (name in attributes) throw new Error(`${name} is there twice`);
    attributes[name] = value.replace(/&(?:#(\d+)|(\w+));/g, (_, code: string | undefined, entity: string) =>
      code === undefined ? (ENTITIES[entity] ?? '') : String.fromCodePoint(Number(code)),
    );
  }
  return attributes;
}
