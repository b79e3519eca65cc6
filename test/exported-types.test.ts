import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const dist = fileURLToPath(new URL('../dist', import.meta.url));

/** Types that a signature names and that a program has no use for, with the reason. */
const INTERNAL: ReadonlySet<string> = new Set([
  // Decorators: which methods they may stand at is the compiler's business.
  ...['Awaitable', 'Method', 'MethodArgs', 'MethodContext', 'ResourceArgs'],
]);

const NAMES = /(?:^|,)\s*(?:type\s+)?(\w+)(?:\s+as\s+(\w+))?/g;

/** The names of an import or export list: as they are called in their file, and here. */
function namesIn(list: string): { readonly own: string; readonly here: string }[] {
  return [...list.matchAll(NAMES)].map(([, own = '', here = own]) => ({ own, here }));
}

function exportsOf(entry: string) {
  const text = readFileSync(join(dist, `${entry}.d.ts`), 'utf8');
  return [...text.matchAll(/^export (?:type )?\{([^}]*)\} from '([^']+)';/gm)].flatMap(([, list = '', from = '']) =>
    namesIn(list).map((name) => ({ ...name, from })),
  );
}

/** The declarations of a function, or the members of its options. */
function signaturesOf(name: string, text: string): string {
  const isOptions = name.endsWith('Options');
  const pattern = isOptions
    ? `^export interface ${name}\\b[^{]*(\\{[\\s\\S]*?^\\})`
    : `^export declare function ${name}\\b([\\s\\S]*?;)$`;
  const found = [...text.matchAll(new RegExp(pattern, 'gm'))].map(([, signature = '']) => signature);
  return found.join('\n').replaceAll(/\/\*[\s\S]*?\*\//g, '');
}

/** Types that are imported from a file of ours, or declared beside the signature. */
function ownTypesIn(text: string): ReadonlySet<string> {
  const imported = [...text.matchAll(/^import (?:type )?\{([^}]*)\} from '(?:\.[^']+|pino)';/gm)];
  const declared = [...text.matchAll(/^(?:export )?(?:declare )?(?:interface|type|class) (\w+)/gm)];
  return new Set([
    ...imported.flatMap(([, list = '']) => namesIn(list).map(({ here }) => here)),
    ...declared.map(([, name = '']) => name),
  ]);
}

describe.each(['index', 'client', 'testing', 'scenario-server', 'run-service'])('the entry %s', (entry) => {
  it('exports each type that its functions and their options name', () => {
    const exported = exportsOf(entry);
    const names = new Set(exported.flatMap(({ own, here }) => [own, here]));
    const missing = exported.flatMap(({ own, from }) => {
      if (!from.startsWith('.')) return [];
      const text = readFileSync(resolve(dist, from.replace(/\.(?:js|tsx?)$/, '.d.ts')), 'utf8');
      const known = ownTypesIn(text);
      const used = signaturesOf(own, text).match(/\b[A-Z]\w*[a-z]\w*\b/g) ?? [];
      return used
        .filter((type) => known.has(type) && !names.has(type) && !INTERNAL.has(type))
        .map((type) => `${own}: ${type}`);
    });
    expect(exported.length).toBeGreaterThan(5);
    expect(missing).toEqual([]);
  });
});
