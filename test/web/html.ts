export interface Element {
  readonly name: string;
  readonly attributes: ReadonlyMap<string, string>;
}

export interface Document {
  readonly elements: readonly Element[];
  /** The text between the tags, decoded. */
  readonly text: string;
}

const TAG = /^<(\/?)([a-z][a-z0-9]*)((?:\s+[a-z][a-z-]*(?:[A-Z][a-zA-Z]*)?(?:="[^"<]*")?)*)\s*\/?>/;
const ATTRIBUTE = /([a-zA-Z-]+)(?:="([^"]*)")?/g;
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

/**
 * Reads a page by a grammar that is stricter than a browser's: tags in lower case with quoted attributes, and text in
 * which no bare `<` is left. Whatever planted text could have become markup does not get through.
 *
 * @throws Error that shows the place.
 */
export function parseHtml(html: string): Document {
  const doctype = '<!doctype html>';
  if (!html.startsWith(doctype)) throw new Error('No doctype');
  const elements: Element[] = [];
  let text = '';
  for (let at = doctype.length; at < html.length; ) {
    if (html[at] !== '<') {
      const end = html.indexOf('<', at);
      const run = html.slice(at, end === -1 ? undefined : end);
      text += decode(run);
      at += run.length;
      continue;
    }
    const match = TAG.exec(html.slice(at));
    if (match === null) throw new Error(`Not a tag of ours: ${JSON.stringify(html.slice(at, at + 200))}`);
    const [whole, slash, name = '', attributes = ''] = match;
    if (slash === '') elements.push({ name, attributes: readAttributes(attributes) });
    at += whole.length;
  }
  return { elements, text };
}

export function attributesOf(document: Document, name: string, attribute: string): readonly string[] {
  return document.elements.flatMap((element) => {
    const value = element.name === name ? element.attributes.get(attribute) : undefined;
    return value === undefined ? [] : [value];
  });
}

function readAttributes(text: string): ReadonlyMap<string, string> {
  return new Map([...text.matchAll(ATTRIBUTE)].map(([, name = '', value = '']) => [name, decode(value)]));
}

function decode(text: string): string {
  return text.replace(/&([^;&\s]+);/g, (whole, name: string) => ENTITIES[name] ?? whole);
}
