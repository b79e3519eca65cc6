import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { whyNodeIsTooOld } from '../../src/support/runtime/required-node.ts';
import { ENVIRONMENT_MAIN } from '../environment/server/child.ts';
import { COMMAND, PATIENCE } from './command.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SENTENCE =
  'Proctor needs Node.js 20.19 or newer, and this is 18.20.8: install a newer one from https://nodejs.org.\n';

it('the least version of Node.js is that of package.json', () => {
  const { engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const [, least = ''] = /^>=(\d+\.\d+)$/.exec(engines.node) ?? [];
  const [major, minor] = least.split('.').map(Number);
  expect(whyNodeIsTooOld(`${least}.0`)).toBeUndefined();
  expect(whyNodeIsTooOld(`${Number(major) + 1}.0.0`)).toBeUndefined();
  expect(whyNodeIsTooOld(`${major}.${Number(minor) - 1}.9`)).toContain(`needs Node.js ${least} or newer`);
  expect(whyNodeIsTooOld('16.20.2')).toContain('and this is 16.20.2');
});

it.each([
  ['run', COMMAND, ['run', 'counter'], `proctor: ${SENTENCE}`],
  ['serve', COMMAND, ['serve'], `proctor: ${SENTENCE}`],
  ['--version', COMMAND, ['--version'], `proctor: ${SENTENCE}`],
  ['an environment', ENVIRONMENT_MAIN, ['environment.ts'], SENTENCE],
])(
  '%s on an older Node.js says which one it needs, and loads nothing else',
  PATIENCE,
  async (_, program, args, said) => {
    const loaded = join(createFolder(), 'loaded');
    const ended = await runOnOldNode(program, args, loaded);
    expect(ended).toEqual({ code: 1, stdout: '', stderr: said });
    const files = readFileSync(loaded, 'utf8').trim().split('\n');
    expect(files.map((url) => url.slice(url.lastIndexOf('/dist/')))).toEqual([
      program.slice(program.lastIndexOf('/dist/')),
      '/dist/support/runtime/required-node.js',
    ]);
  },
);

function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'proctor-old-node-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** This Node.js, which says that it is an older one, and notes down what it loads. */
function runOnOldNode(program: string, args: readonly string[], loaded: string) {
  const folder = createFolder();
  const hook = `import { appendFileSync } from 'node:fs';
export async function load(url, context, next) {
  if (url.startsWith('file:')) appendFileSync(${JSON.stringify(loaded)}, url + '\\n');
  return await next(url, context);
}`;
  writeFileSync(join(folder, 'hook.mjs'), hook);
  const preload = `import { register } from 'node:module';
Object.defineProperty(process.versions, 'node', { value: '18.20.8' });
register(${JSON.stringify(pathToFileURL(join(folder, 'hook.mjs')).href)});`;
  writeFileSync(join(folder, 'preload.mjs'), preload);
  const options = ['--import', pathToFileURL(join(folder, 'preload.mjs')).href, program, ...args];
  return new Promise((resolve) => {
    execFile(process.execPath, options, { cwd: folder }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : error.code, stdout, stderr }),
    );
  });
}
