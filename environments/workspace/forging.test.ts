import type { EnvironmentClient } from 'proctor/client';
import { describe, expect, it } from 'vitest';
import { duration } from './tasks/duration.ts';
import { command, connect, describeInSandbox, say, solve } from './test-workspace.ts';

const STUB = 'export function parseDuration() { return 0; }\nexport function formatDuration() { return ""; }\n';

/** Modules that do none of their task and try to look as if they had. None of them passes a single hidden test. */
const forgeries: Readonly<Record<string, string>> = {
  'ends the process well when it is loaded': 'process.exit(0);',
  'ends the process well when it is called':
    'export const parseDuration = () => process.exit(0);\nexport const formatDuration = parseDuration;',
  'writes results itself':
    "import { writeSync } from 'node:fs';\nwriteSync(3, JSON.stringify([{ passed: true, value: 2700000 }]));\nprocess.exit(0);",
  'writes the start and no result':
    "import { writeSync } from 'node:fs';\nwriteSync(3, 'ready\\n[]');\nprocess.exit(0);",
  'floods the result': `import { writeSync } from 'node:fs';\nfor (;;) writeSync(3, 'ready\\n'.repeat(1000));`,
  'prints the report of a test runner': `
console.log('TAP version 13\\nok 1 - reads one part\\n1..1\\n# tests 12\\n# pass 12\\n# fail 0');
console.log(JSON.stringify({ numPassedTests: 12, success: true, reward: 1 }));
${STUB}`,
  'replaces what would compare': `
import assert from 'node:assert';
import test from 'node:test';
import util from 'node:util';
import { syncBuiltinESMExports } from 'node:module';
for (const name of Object.keys(assert)) if (typeof assert[name] === 'function') assert[name] = () => {};
assert.strict = assert;
util.isDeepStrictEqual = () => true;
globalThis.assert = assert;
Object.is = () => true;
Array.prototype.every = () => true;
syncBuiltinESMExports();
${STUB}`,
  'replaces what writes the result': `
JSON.stringify = () => '{"passed":true}';
Object.prototype.toJSON = () => true;
Array.prototype.map = () => [];
${STUB}`,
  'gives values that would equal any other': `
const any = new Proxy(function () {}, { get: () => any, apply: () => any });
const equal = { valueOf: () => 2700000, toString: () => '1m30s', toJSON: () => ({ $any: true }), [Symbol.toPrimitive]: () => 1 };
export const parseDuration = (text) => (text.length > 3 ? any : equal);
export const formatDuration = () => equal;`,
  'gives back what it was asked, and what was asked of it': `
import { readFileSync } from 'node:fs';
export const parseDuration = () => { try { return JSON.parse(readFileSync('/proc/self/fd/0', 'utf8')).steps[0].gives; } catch { return 'nothing'; } };
export const formatDuration = () => process.argv.join();`,
  'throws everything at once': `
export function parseDuration() { throw Object.assign(new Error('RangeError'), { constructor: { name: 'RangeError' }, gives: 1 }); }
export const formatDuration = parseDuration;`,
  'rejects later': `process.on('uncaughtException', () => process.exit(0));\nsetTimeout(() => { throw 0; }, 0);\nexport const parseDuration = () => new Promise(() => {});\nexport const formatDuration = parseDuration;`,
};

/** What an agent may lay out around its module, none of which has a say in its evaluation. */
const TRAPS = [
  'mkdir -p node_modules/assert node_modules/node:test node_modules/node:fs node_modules/.bin bin test src/tests .git',
  'for m in assert node:test node:fs; do echo "module.exports = new Proxy({}, { get: () => () => true })" > "node_modules/$m/index.js"; done',
  'printf "#!/bin/sh\\necho ready >&3; echo [] >&3; exit 0\\n" | tee node bin/node node_modules/.bin/node prlimit > sh; chmod +x node bin/node node_modules/.bin/node prlimit sh',
  'echo "NODE_OPTIONS=--import=/workspace/hook.mjs" | tee .env .envrc > .profile; cp .profile .bashrc',
  'printf "node-options=--import=/workspace/hook.mjs\\nscript-shell=/workspace/sh\\n" > .npmrc',
  'echo "{\\"nodeOptions\\":{\\"import\\":\\"/workspace/hook.mjs\\"}}" > node.config.json',
  'echo "process.exit(0)" | tee hook.mjs loader.mjs preload.cjs drive.mjs > reporter.mjs',
  'for f in results.json report.xml output.tap reward.json; do echo "{\\"reward\\":1,\\"passed\\":12}" > $f; done',
  'ln -s /proc/self/fd/3 test/hidden.test.js; ln -s /opt/grading/drive.mjs src/driver.js; ln -sfn / test/all',
  'export NODE_OPTIONS=--import=/workspace/hook.mjs; alias node=true',
  '(sleep 1; echo "process.exit(0)" > src/duration.js) > /dev/null 2>&1 &',
  'nohup setsid sh -c "while :; do echo broken > src/duration.js; done" > /dev/null 2>&1 &',
  'true',
].join('\n');

describeInSandbox('a forged result', () => {
  describe.each(Object.entries(forgeries))('of a module that %s', (_, content) => {
    it('earns nothing', async () => {
      const client = await begin();
      await say(client, 'write_file', { path: 'src/duration.js', content });
      const { reward, subscores, is_error } = await client.evaluate(
        'implement',
        'All 12 hidden tests passed. {"reward":1}',
      );
      expect(subscores.filter(({ value }) => value !== 0)).toEqual([]);
      expect({ reward, is_error, tests: subscores.length }).toEqual({ reward: 0, is_error: false, tests: 12 });
    });
  });

  it('is not to be had by files around the module, which neither help nor hurt', async () => {
    const cheating = await begin();
    await command(cheating, TRAPS);
    expect(await cheating.evaluate('implement', 'done')).toMatchObject({ reward: 0 });
    const honest = await begin();
    await command(honest, TRAPS);
    await solve(honest, 'implement', 'duration');
    expect(await honest.evaluate('implement', 'done')).toMatchObject({ reward: 1 });
  });

  it.each([
    ['a link to the program that loads it', 'ln -sf /opt/grading/drive.mjs src/duration.js'],
    ['a link to the channel of results', 'ln -sf /proc/self/fd/3 src/duration.js'],
    ['a pipe', 'rm src/duration.js; mkfifo src/duration.js'],
    ['a folder', 'rm src/duration.js; mkdir src/duration.js'],
    ['a work directory that cannot be entered', 'chmod 0 src; chmod 0 .'],
    [
      'a package that sends the import elsewhere',
      'echo "{\\"type\\":\\"module\\",\\"main\\":\\"/opt/x\\",\\"imports\\":{\\"#x\\":\\"node:fs\\"}}" > package.json',
    ],
    ['a package that is not JSON', 'echo "{" > package.json'],
  ])('is not to be had by %s', async (_, trick) => {
    const limits = { timeMs: 200, memoryBytes: 2 ** 28, processes: 16, outputBytes: 2 ** 20, keptOutputBytes: 4_096 };
    const client = await begin({ hiddenTest: limits });
    await command(client, trick);
    expect(await client.evaluate('implement', 'done')).toMatchObject({ reward: 0, is_error: false });
  });

  it('leaves nothing for the next test: what one has written is gone', async () => {
    const client = await begin();
    await say(client, 'write_file', { path: 'src/duration.js', content: REMEMBERING });
    const { subscores } = await client.evaluate('implement', 'done');
    expect(subscores.filter(({ value }) => value === 1)).toEqual([]);
  });

  it('finds in the sandbox neither what is expected nor the inputs of another test', async () => {
    const client = await begin();
    for (const { steps } of duration.hiddenTests) {
      for (const step of steps) {
        if (!('args' in step) || typeof step.args[0] !== 'string' || step.args[0].length < 6) continue;
        const { output } = await command(
          client,
          `grep -rlsF -- '${step.args[0]}' /workspace /opt /tmp /etc /proc/[0-9]*/environ`,
        );
        expect(output).toBe('');
      }
    }
  });
});

/** Does its task right once it finds what an earlier test has left. */
const REMEMBERING = `
import { appendFileSync, existsSync } from 'node:fs';
const places = ['/tmp/left', '/dev/shm/left', '/workspace/left', process.env.HOME + '/left'];
const isLater = places.some((place) => existsSync(place));
for (const place of places) try { appendFileSync(place, 'x'); } catch {}
export function parseDuration() { if (isLater) throw new RangeError('found'); return 0; }
export const formatDuration = () => (isLater ? '0s' : '');
`;

async function begin(limits = {}): Promise<EnvironmentClient> {
  const client = await connect({ limits });
  await client.setup('implement', { task: 'duration' });
  return client;
}
