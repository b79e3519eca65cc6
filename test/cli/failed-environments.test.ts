import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createProject, PATIENCE, proctor } from './command.ts';

const PACKAGE = fileURLToPath(new URL('../../', import.meta.url));

/** A project with one environment of this code, which finds the package. */
function projectOf(code: string): string {
  const cwd = createProject();
  writeFileSync(join(cwd, 'package.json'), '{"type":"module"}');
  mkdirSync(join(cwd, 'node_modules'));
  symlinkSync(PACKAGE, join(cwd, 'node_modules', 'proctor'));
  mkdirSync(join(cwd, 'environments', 'shop'));
  writeFileSync(join(cwd, 'environments', 'shop', 'environment.ts'), code);
  return cwd;
}

const SCENARIOS = `import { EnvironmentServer } from 'proctor';
const NEEDLE = 'a long text, '.repeat(20);
export default () => {
  const env = new EnvironmentServer({ name: 'shop' });
  env.scenario('set_up', {}, async function* () {
    throw new Error(NEEDLE + 'the end');
  });
  env.scenario('evaluate', {}, async function* () {
    yield 'Buy.';
    throw new Error(NEEDLE + 'the end');
  });
  return env;
};
`;

describe('an environment that fails', PATIENCE, () => {
  it.each([
    ['set_up', 'setup', '6:11'],
    ['evaluate', 'evaluation', '10:11'],
  ])('in %s tells run and traces show its file and line, and its stack with --full', async (scenario, part, place) => {
    const cwd = projectOf(SCENARIOS);
    const run = ['run', 'shop', scenario, '--model', 'proctor/noop'];
    const { code, stderr } = await proctor(run, { cwd });
    const id = /traces\/([0-9a-f]{32})/.exec(stderr)?.[1] ?? '';
    const shown = await proctor(['traces', 'show', id], { cwd });
    const at = `environments/shop/environment.ts:${place}`;
    expect(code).toBe(1);
    for (const text of [stderr, shown.stdout]) {
      expect(text).toContain(`log error: The ${part} of the scenario ${scenario} failed at ${at}: Error: a long text`);
      expect(text).toMatch(new RegExp(`^failed at .*the end at ${at}`, 'm'));
      expect(text).not.toMatch(/^ +at |The tool/m);
    }
    const full = await proctor(['traces', 'show', id, '--full'], { cwd });
    const again = await proctor([...run, '--full'], { cwd });
    for (const text of [full.stdout, again.stderr]) {
      expect(text).toMatch(new RegExp(`the end\\n +at .*environment\\.ts:${place}`));
    }
  });

  it('at its start says so with file and line, and once', async () => {
    const cwd = projectOf("throw new Error('TICKETS is not set');\n");
    const { code, stderr } = await proctor(['run', 'shop', 'buy', '--model', 'proctor/noop'], { cwd });
    expect(code).toBe(1);
    expect(stderr).toMatch(/shop\/environment\.ts:1:7: TICKETS is not set\n$/);
    expect(stderr).not.toMatch(/caused by|probe/);
  });

  it('in its initialize hook says so with file and line, and without its stack', async () => {
    const code = `import { EnvironmentServer } from 'proctor';
const env = new EnvironmentServer({ name: 'shop' });
env.initialize(() => { throw new Error('no tickets'); });
env.scenario('buy', {}, async function* () { yield 'Buy.'; return 1; });
export default env;
`;
    const { stderr } = await proctor(['run', 'shop', 'buy', '--model', 'proctor/noop'], { cwd: projectOf(code) });
    expect(stderr).toContain('The initialize hook failed at environments/shop/environment.ts:3:30: Error: no tickets');
    expect(stderr).not.toMatch(/^(?:log \w+: )? *at /m);
  });
});

describe('an environment with a scenario whose tools fit none', PATIENCE, () => {
  it('is ready, and list and doctor warn of that scenario', async () => {
    const cwd = projectOf(`import { EnvironmentServer } from 'proctor';
export default () => {
  const env = new EnvironmentServer({ name: 'shop' });
  env.initialize(() => env.tool('find', {}, () => 1));
  env.scenario('fits', { tools: ['find'] }, async function* () { yield 'Go.'; return 1; });
  env.scenario('typo', { tools: ['fnid'] }, async function* () { yield 'Go.'; return 1; });
  return env;
};
`);
    const warning =
      'The scenario typo allows in "tools" what no tool of the environment matches: "fnid". Did you mean "find"? There are: find';
    for (const args of [['list'], ['list', 'shop']]) {
      const { code, stderr } = await proctor(args, { cwd });
      expect([code, stderr]).toEqual([0, expect.stringContaining(`shop: ${warning}`)]);
    }
    const { stdout } = await proctor(['doctor', 'shop', '--json'], { cwd });
    const { checks } = JSON.parse(stdout) as { readonly checks: readonly { readonly name: string }[] };
    expect(checks.find(({ name }) => name === 'environment shop')).toMatchObject({
      status: 'warn',
      message: expect.stringContaining('1 scenario will fail'),
      lines: [warning],
    });
  });
});

describe('a port that is taken', PATIENCE, () => {
  it.each(['serve', 'scenarios'])('is said once by proctor %s', async (command) => {
    const holder = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => holder.once('listening', resolve));
    onTestFinished(() => void holder.close());
    const address = holder.address();
    const port = String(typeof address === 'object' ? address?.port : '');
    const args = command === 'serve' ? [] : ['--env', 'counter', '--model', 'proctor/noop'];
    const { code, stderr } = await proctor([command, ...args, '--port', port], { cwd: createProject('counter') });
    expect(code).toBe(1);
    expect(stderr.trim()).toBe(
      `proctor: Port ${port} on 127.0.0.1 is in use: stop what listens there, or choose another port with --port.`,
    );
  });
});
