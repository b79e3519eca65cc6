import { cpSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commandReference } from '../../scripts/reference/commands.ts';
import { limitsReference } from '../../scripts/reference/limits.ts';
import { configSchema } from '../../src/service/config/config-schema.ts';
import { loadConfig } from '../../src/service/config/load-config.ts';
import { createFolder, ROOT, read } from './documents.ts';

const ENTRIES = {
  proctor: 'index',
  'proctor/client': 'client',
  'proctor/scenario-server': 'scenario-server',
  'proctor/run-service': 'run-service',
  'proctor/testing': 'testing',
  'proctor/tools': 'tools',
} as const;

it('docs/reference/command-line.md says what the commands say; "npm run docs:commands" writes it', async () => {
  expect(read('docs/reference/command-line.md')).toBe(await commandReference());
});

it('docs/reference/limits.md has the limits of the code; "npm run docs:limits" writes it', () => {
  expect(read('docs/reference/limits.md')).toBe(limitsReference());
});

describe.each(Object.entries(ENTRIES))('docs/reference/api.md, %s', (entry, file) => {
  it('has a row for every name that the entry exports, and for no other', () => {
    const section =
      read('docs/reference/api.md')
        .split(/^## /m)
        .find((text) => text.startsWith(`${entry}\n`)) ?? '';
    const rows = [...section.matchAll(/^\| `(\w+)/gm)].map(([, name]) => name);
    expect(rows.toSorted()).toEqual(exportsOf(`src/${file}.ts`).toSorted());
  });
});

it('package.json exports the entries of docs/reference/api.md', () => {
  const { exports } = JSON.parse(read('package.json')) as { readonly exports: object };
  const entries = Object.keys(exports).filter((path) => path !== './package.json');
  expect(entries.map((path) => path.replace('.', 'proctor')).toSorted()).toEqual(Object.keys(ENTRIES).toSorted());
});

describe('docs/reference/configuration.md', () => {
  const page = read('docs/reference/configuration.md');

  it('has every variable that the code reads, and no other', () => {
    const named = new Set(
      listSources().flatMap((path) => read(path).match(/\b(?:PROCTOR|OPENAI)_[A-Z_]*[A-Z]\b/g) ?? []),
    );
    for (const constant of ['PROCTOR_VERSION', 'OPENAI_URL', 'OPENAI_TYPES', 'OPENAI_RULES']) named.delete(constant);
    expect([...new Set(page.match(/\b(?:PROCTOR|OPENAI)_[A-Z_]*[A-Z]\b/g))].toSorted()).toEqual([...named].toSorted());
  });

  it('has every setting of defineConfig in its tables and in its example', async () => {
    const rows = [...page.matchAll(/^\| `([\w.*]+)`/gm)].map(([, name = '']) => name);
    for (const name of Object.keys(configSchema.shape)) {
      expect(rows.filter((row) => row === name || row.startsWith(`${name}.`))).not.toEqual([]);
    }
    const folder = createFolder();
    cpSync(join(ROOT, 'docs/examples/settings.config.ts'), join(folder, 'proctor.config.ts'));
    expect(Object.keys(await loadConfig(folder)).toSorted()).toEqual(Object.keys(configSchema.shape).toSorted());
  });
});

/** The names in the `export { ... } from` lists of an entry. */
function exportsOf(path: string): readonly string[] {
  return [...read(path).matchAll(/^export (?:type )?\{([^}]*)\} from/gm)].flatMap(([, names = '']) =>
    names
      .split(',')
      .map((name) =>
        name
          .replace(/^.* as /s, '')
          .replace(/\btype\b/, '')
          .trim(),
      )
      .filter((name) => name !== ''),
  );
}

function listSources(): readonly string[] {
  return readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => `src/${path}`);
}
