import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { REFEREE_TESTS } from './without-referees.ts';

const TEST = fileURLToPath(new URL('.', import.meta.url));

it('the tests that are left out without the referees are those that use them', () => {
  const uses = /\/(referees\/(node_modules|clients|peers)\/|aimock-gateway\.ts)/;
  const files = ['models/dialects', 'interop', 'service/chat', 'environment/server', 'conformance', 'docs'].flatMap(
    (folder) =>
      readdirSync(join(TEST, folder), { recursive: true, encoding: 'utf8' }).map((path) => join('test', folder, path)),
  );
  const tests = files.filter((path) => path.endsWith('.test.ts'));
  const using = tests.filter((path) => uses.test(readFileSync(join(TEST, '..', path), 'utf8')));
  expect([...using].sort()).toEqual(REFEREE_TESTS);
});
