import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT, read } from './documents.ts';

const PAGE = 'docs/concepts.md';
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

const rows = read(PAGE)
  .split('\n')
  .flatMap((line): readonly Row[] => {
    const [, term, code = '', wire = ''] = /^\| \*\*(.+?)\*\* \| .+? \| (`\S+`)? ?\| (`\S+`)? ?\|$/.exec(line) ?? [];
    return term === undefined
      ? []
      : [{ term, symbols: code.match(/[^`]+/g) ?? [], fields: wire.match(/[^`]+/g) ?? [] }];
  });
const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' }).filter((path) =>
  /\.tsx?$/.test(path),
);
const code = sources.map((path) => read(`src/${path}`)).join('\n');

describe(PAGE, () => {
  it('explains each term once', () => {
    const terms = rows.map(({ term }) => term.toLowerCase());
    expect(terms.length).toBeGreaterThan(60);
    expect(terms.filter((term, index) => terms.indexOf(term) !== index)).toEqual([]);
    const lines = read(PAGE).match(/^\| \*\*/gm);
    expect(lines).toHaveLength(rows.length);
  });

  it('names symbols and wire fields that exist', () => {
    const missing = rows.flatMap(({ term, symbols, fields }) => [
      ...symbols.filter((symbol) => !new RegExp(`\\b${symbol}\\b`).test(code)).map((symbol) => `${term}: ${symbol}`),
      ...fields
        .filter((field) => !code.toLowerCase().includes(field.toLowerCase()))
        .map((field) => `${term}: ${field}`),
    ]);
    expect(missing).toEqual([]);
  });

  it('has every noun of the exported names', () => {
    const page = read(PAGE).toLowerCase();
    const missing = ['index', 'client', 'scenario-server', 'run-service', 'testing']
      .flatMap((entry) => [...read(`src/${entry}.ts`).matchAll(/^export (?:type )?\{([^}]*)\} from/gm)])
      .flatMap(([, names = '']) => names.split(',').map((name) => name.replace(/^.* as |\btype\b/gs, '').trim()))
      .flatMap((name) => name.match(/[A-Z]?[a-z]+/g) ?? [])
      .map((word) => word.toLowerCase())
      .filter((word) => !GRAMMAR.has(word) && !page.includes(word));
    expect([...new Set(missing)]).toEqual([]);
  });
});
