import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const source = fileURLToPath(new URL('../src', import.meta.url));
const VALUE_IMPORT = /^(?:import|export)\s(?!type\b)(?:[^;']*\sfrom\s*)?'(\.[^']+)'/gm;

/** Files of ours that an import of each public entry loads, at most. A number here may fall and never rise. */
const ENTRIES = {
  index: 100,
  client: 18,
  testing: 129,
  tools: 60,
  'scenario-server': 128,
  'run-service': 302,
} as const;

/** The same for commands: what they load at once, and for a run what it asks for later. */
const COMMANDS = {
  init: { files: ['cli/write/init'], most: 25 },
  list: { files: ['cli/write/list'], most: 109 },
  'keys create': { files: ['cli/serve/keys', 'store/database/sqlite/sqlite'], most: 53 },
  run: {
    files: [
      'cli/play/run',
      'environment/client/pool/hosted-link',
      'service/runs/installation',
      'service/runs/open-service',
      'service/runs/routes/catalogue-routes',
      'service/runs/routes/run-route',
      'service/runs/worker/player',
      'service/traces/events-route',
      'store/database/sqlite/sqlite',
    ],
    most: 282,
  },
} as const;

describe('an import loads no more than it needs', () => {
  it.each(Object.entries(ENTRIES))('src/%s.ts loads at most %i files', (entry, most) => {
    expect(loadedBy([entry]).size).toBeLessThanOrEqual(most);
  });

  it.each(Object.entries(COMMANDS))('proctor %s', (_name, { files, most }) => {
    expect(loadedBy(['cli/main', 'cli/program', ...files]).size).toBeLessThanOrEqual(most);
  });
});

/** All files that are loaded with these, by their static imports of values. */
function loadedBy(names: readonly string[]): ReadonlySet<string> {
  const loaded = new Set(names.map((name) => join(source, `${name}.ts`)));
  for (const file of loaded) {
    for (const [, specifier = ''] of readFileSync(file, 'utf8').matchAll(VALUE_IMPORT)) {
      loaded.add(resolve(dirname(file), specifier));
    }
  }
  return loaded;
}
