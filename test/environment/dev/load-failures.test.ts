import { execFile } from 'node:child_process';
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, type TestContext } from 'vitest';
import { ENVIRONMENT_MAIN } from '../server/child.ts';

/** What the process of an environment says of a module that it cannot load. */
async function failureOf(context: TestContext, name: string, text: string): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'load-')));
  // Of the context: among concurrent tests the imported function does not know whose end is meant.
  context.onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, 'other.mjs'), 'export const here = 1;\n');
  await writeFile(join(folder, name), text);
  const said = await new Promise<string>((resolve) => {
    execFile(process.execPath, [ENVIRONMENT_MAIN, join(folder, name)], (_error, _stdout, stderr) => resolve(stderr));
  });
  return said.replaceAll(`${folder}/`, '');
}

describe('what is wrong with a module is said with its place', { timeout: 20_000 }, () => {
  it.concurrent.for([
    ['text that is no JavaScript', 'module.mjs', 'const a = 1;\nconst = 2;\n', /^module\.mjs:2:7: Unexpected token/],
    ['data that is no JSON', 'module.mjs', "\n\nJSON.parse('{');\n", /^module\.mjs:3:6: .*JSON/],
    ['data that is no JSON, in TypeScript', 'module.mts', "\n\nJSON.parse('{');\n", /^module\.mts:3:6: .*JSON/],
    [
      'a name that another module lacks',
      'module.mts',
      "import { there } from './other.mjs';\nthere();\n",
      /^module\.mts(:1)?: .*'there'/,
    ],
  ] as const)('%s', async ([_what, name, text, message], context) => {
    expect(await failureOf(context, name, text)).toMatch(message);
  });
});
