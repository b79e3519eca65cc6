import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT, read } from './documents.ts';

const PAGES = ['docs/concepts.md', 'docs/glossary.md'];
const text = PAGES.map((page) => read(page)).join('\n');
/** Words that a user has to know. */
const MAX_CONCEPTS = 25;
/** Words of exported names that are no concepts: verbs, and what any program calls its values. */
const GRAMMAR = new Set(
  (
    'accepted allowed any args arguments call close command create created data define embedded entry error fake filters ' +
    'finished function generator given halves handle handler input link list listed load main message new no object of ' +
    'offer open options parse query read record reply request response result rich serve source start started status ' +
    'target test url api config elicit sample'
  ).split(' '),
);

interface Row {
  readonly term: string;
  readonly symbols: readonly string[];
  readonly fields: readonly string[];
}

const rows = text.split('\n').flatMap((line): readonly Row[] => {
  const [, term, code = '', wire = ''] = /^\| \*\*(.+?)\*\* \| .+? \| (`\S+`)? ?\| (`\S+`)? ?\|$/.exec(line) ?? [];
  return term === undefined ? [] : [{ term, symbols: code.match(/[^`]+/g) ?? [], fields: wire.match(/[^`]+/g) ?? [] }];
});
const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' }).filter((path) =>
  /\.tsx?$/.test(path),
);
const code = sources.map((path) => read(`src/${path}`)).join('\n');

describe('docs/concepts.md and docs/glossary.md', () => {
  it('ask a user to know few words', () => {
    expect(read('docs/concepts.md').match(/^\| \*\*/gm)).toHaveLength(MAX_CONCEPTS);
  });

  it('explain each term once', () => {
    const terms = rows.map(({ term }) => term.toLowerCase());
    expect(terms.length).toBeGreaterThan(60);
    expect(terms.filter((term, index) => terms.indexOf(term) !== index)).toEqual([]);
    const lines = text.match(/^\| \*\*/gm);
    expect(lines).toHaveLength(rows.length);
  });

  it('name symbols and wire fields that exist', () => {
    const missing = rows.flatMap(({ term, symbols, fields }) => [
      ...symbols.filter((symbol) => !new RegExp(`\\b${symbol}\\b`).test(code)).map((symbol) => `${term}: ${symbol}`),
      ...fields
        .filter((field) => !code.toLowerCase().includes(field.toLowerCase()))
        .map((field) => `${term}: ${field}`),
    ]);
    expect(missing).toEqual([]);
  });

  it('have every noun of the exported names', () => {
    const page = text.toLowerCase();
    const missing = ['index', 'client', 'scenario-server', 'run-service', 'testing']
      .flatMap((entry) => [...read(`src/${entry}.ts`).matchAll(/^export (?:type )?\{([^}]*)\} from/gm)])
      .flatMap(([, names = '']) => names.split(',').map((name) => name.replace(/^.* as |\btype\b/gs, '').trim()))
      .flatMap((name) => name.match(/[A-Z]?[a-z]+/g) ?? [])
      .map((word) => word.toLowerCase())
      .filter((word) => !GRAMMAR.has(word) && !page.includes(word));
    expect([...new Set(missing)]).toEqual([]);
  });
});
