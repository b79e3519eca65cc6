import { mkdir, mkdtemp, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ApiError } from '../../../src/contract/errors.ts';
import { type Catalogue, catalogueCheck, createCatalogue } from '../../../src/environment/client/catalogue.ts';
import type { EnvironmentTarget } from '../../../src/environment/client/environment-client.ts';
import { inMemory } from '../../../src/environment/server/in-memory.ts';
import { EnvironmentServer, Hub, ToolError } from '../../../src/index.ts';
import { until } from '../../until.ts';
import { failureOf, fixture } from './harness.ts';
import { processesNamed } from './processes.ts';

let made = 0;
const catalogues: Catalogue[] = [];

function create(targets: Record<string, EnvironmentTarget>, now?: () => number): Catalogue {
  const catalogue = createCatalogue(new Map(Object.entries(targets)), { now });
  catalogues.push(catalogue);
  return catalogue;
}

function demo(): EnvironmentTarget {
  const environment = () => {
    made += 1;
    const env = new EnvironmentServer({ name: 'inside', version: '3.0.0', instructions: 'First line.\nSecond.' });
    env.scenario('one', { description: 'The first.' }, async function* () {
      yield 'go';
      return 1;
    });
    return env;
  };
  return inMemory(environment);
}

const broken: EnvironmentTarget = { kind: 'command', command: process.execPath, args: ['-e', 'process.exit(9)'] };

async function refusal(promise: Promise<unknown>): Promise<ApiError> {
  const error = await promise.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ApiError);
  return error as ApiError;
}

beforeEach(() => {
  made = 0;
});
afterEach(() => Promise.all(catalogues.splice(0).map((catalogue) => catalogue.close())));

describe('the catalogue of environments', () => {
  it('lists them with the first line of what they say of themselves, and their version', async () => {
    expect(await create({ demo: demo() }).list()).toEqual([
      { name: 'demo', description: 'First line.', version: '3.0.0', state: 'ready', warnings: [] },
    ]);
  });

  it('runs no initialize hook to read what an environment offers', async () => {
    let hooks = 0;
    const environment = () => {
      const env = new EnvironmentServer({ name: 'heavy', version: '1.0.0' });
      env.initialize(() => {
        hooks += 1;
      });
      env.scenario('one', {}, async function* () {
        yield 'go';
        return 1;
      });
      return env;
    };
    const scenarios = await create({ heavy: inMemory(environment) }).scenarios('heavy');
    expect([scenarios.map(({ name }) => name), hooks]).toEqual([['heavy:one'], 0]);
  });

  it('gives the tools as an agent sees them, whole, and nothing of the harness', async () => {
    const environment = () => {
      const env = new EnvironmentServer({ name: 'desk' });
      env.tool(
        'find',
        {
          title: 'Find',
          description: 'Finds.',
          args: { type: 'object', properties: { by: { type: 'string' } }, additionalProperties: false },
          returns: { type: 'object', properties: { count: { type: 'integer' } } },
          annotations: { readOnlyHint: true, openWorldHint: false },
        },
        () => ({ count: 1 }),
      );
      env.mount(new Hub('audit', { audience: 'harness' }).tool('all', {}, () => 1));
      env.scenario('one', { solution: () => ({ calls: [], answer: 'secret' }) }, async function* () {
        yield 'go';
        return 1;
      });
      return env;
    };
    const tools = await create({ desk: inMemory(environment) }).tools('desk');
    expect(tools).toEqual([
      {
        name: 'find',
        title: 'Find',
        description: 'Finds.',
        input_schema: expect.objectContaining({ properties: { by: { type: 'string' } } }),
        output_schema: expect.objectContaining({ properties: { count: { type: 'integer' } } }),
        annotations: { readOnlyHint: true, openWorldHint: false },
      },
    ]);
  });

  it('lists one that cannot be started too, with the reason', async () => {
    const entries = await create({ broken, demo: demo() }).list();
    expect(entries).toEqual([
      { name: 'broken', description: '', version: '', state: 'failed', reason: expect.stringContaining('code 9') },
      { name: 'demo', description: 'First line.', version: '3.0.0', state: 'ready', warnings: [] },
    ]);
  });

  it('lists one whose initialize hook fails with the reason, at once the second time, and as ready once it does not', async () => {
    let isBroken = true;
    let started = 0;
    let time = 0;
    const environment = () => {
      const env = new EnvironmentServer({ name: 'hooked', version: '1.0.0' });
      env.initialize(() => {
        started += 1;
        if (isBroken) throw new ToolError('bubblewrap is missing');
      });
      return env;
    };
    const catalogue = create({ hooked: inMemory(environment) }, () => time);
    const states = async () => (await catalogue.list()).map(({ state }) => state);
    const failed = { version: '1.0.0', state: 'failed', reason: expect.stringContaining('bubblewrap is missing') };
    expect(await Promise.all([catalogue.list(), catalogue.list()])).toMatchObject([[failed], [failed]]);
    expect(await catalogue.list()).toMatchObject([failed]);
    expect(started).toBe(1);
    isBroken = false;
    time = 5_000;
    await expect.poll(states).toEqual(['ready']);
    expect([await states(), started]).toEqual([['ready'], 2]);
  });

  it('takes a server without a version for ready, where it answers', async () => {
    const environment = () => new EnvironmentServer({ name: 'plain', version: '' });
    const catalogue = create({ plain: inMemory(environment) });
    expect(await catalogue.list()).toEqual([
      { name: 'plain', description: '', version: '', state: 'ready', warnings: [] },
    ]);
    expect(await catalogueCheck(catalogue, { warn: () => {} }).failed()).toEqual([]);
  });

  it('warns of a scenario whose tools fit none, those of a connected server and of the hook included, and says it to the log once', async () => {
    const files = () => new EnvironmentServer({ name: 'files' }).tool('read_file', {}, () => 'text');
    const environment = () => {
      const env = new EnvironmentServer({ name: 'desk' }).tool('find', {}, () => 1);
      env.connect('files', { server: files });
      env.initialize(() => {
        env.tool('late', {}, () => 1);
      });
      const play = async function* () {
        yield 'go';
        return 1;
      };
      env.scenario('fits', { tools: ['read_*', 'late', 'find'] }, play);
      env.scenario('typo', { tools: ['raed_file', 'find'] }, play);
      return env;
    };
    const catalogue = create({ desk: inMemory(environment) });
    const warning =
      'The scenario typo allows in "tools" what no tool of the environment matches: "raed_file". Did you mean "read_file"? There are: ';
    expect(await catalogue.list()).toMatchObject([
      { name: 'desk', state: 'ready', warnings: [expect.stringContaining(warning)] },
    ]);
    const warned: unknown[] = [];
    const check = catalogueCheck(catalogue, { warn: (fields) => warned.push(fields) });
    for (let time = 0; time < 2; time += 1) expect(await check.failed()).toEqual([]);
    expect(warned).toEqual([{ environment: 'desk', reason: expect.stringContaining(warning) }]);
  });

  it('says why an environment is not ready to the log alone, and once', async () => {
    const warned: unknown[] = [];
    const check = catalogueCheck(create({ broken }), { warn: (fields) => warned.push(fields) });
    for (let time = 0; time < 2; time += 1) {
      expect(await check.failed()).toEqual(['environment broken (it cannot be started, the log says why)']);
    }
    expect(warned).toEqual([{ environment: 'broken', reason: expect.stringContaining('code 9') }]);
  });

  it('reads an environment once, for callers at the same time and later', async () => {
    const catalogue = create({ demo: demo() });
    await Promise.all([catalogue.scenarios('demo'), catalogue.find('demo', 'one'), catalogue.tools('demo')]);
    await Promise.all([catalogue.scenarios('demo'), catalogue.tools('demo')]);
    expect(made).toBe(1);
  });

  it('finds a scenario by its short name, by the name that the environment gives and by the configured one', async () => {
    const catalogue = create({ demo: demo() });
    for (const name of ['one', 'inside:one', 'demo:one']) {
      expect(await catalogue.find('demo', name)).toMatchObject({ short_name: 'one', description: 'The first.' });
    }
  });

  it('refuses an unknown environment and lists those that exist', async () => {
    const error = await refusal(create({ demo: demo(), other: demo() }).find('dmo', 'one'));
    expect(error).toMatchObject({ code: 'env_not_found', param: 'env_name', status: 404 });
    expect(error.message).toBe('No environment is named "dmo". Did you mean "demo"? Environments: demo, other.');
    expect((await refusal(create({}).scenarios('demo'))).message).toContain('Environments: none.');
  });

  it('refuses an unknown scenario and lists those that exist', async () => {
    for (const name of ['two', 'other:one', '']) {
      const error = await refusal(create({ demo: demo() }).find('demo', name));
      expect(error).toMatchObject({ code: 'scenario_not_found', param: 'scenario_name' });
      expect(error.message).toBe(`The environment "demo" has no scenario ${JSON.stringify(name)}. Scenarios: one.`);
    }
  });

  it('gives the failure of one that cannot be started, and tries again the next time', async () => {
    let isBroken = true;
    const environment = () => {
      if (isBroken) throw new Error('not today');
      return new EnvironmentServer({ name: 'moody' });
    };
    const catalogue = create({ moody: inMemory(environment) });
    const error = await failureOf(catalogue.scenarios('moody'));
    expect(error).toMatchObject({ boundary: 'environment', code: 'environment_failed' });
    isBroken = false;
    expect(await catalogue.scenarios('moody')).toEqual([]);
  });

  it('gives the scenarios of an environment that never says which tools it has, and ends it when it is closed', async () => {
    const args = [fixture('faulty-server.mjs'), 'never lists tools'];
    const catalogue = create({ silent: { kind: 'command', command: process.execPath, args } });
    expect(await catalogue.scenarios('silent')).toEqual([]);
    const tools = refusal(catalogue.tools('silent'));
    await catalogue.close();
    expect(await tools).toMatchObject({ code: 'shutting_down' });
    expect(processesNamed('never lists tools')).toEqual([]);
  });

  it('ends what is being started when it is closed', async () => {
    const catalogue = create({ slow: { kind: 'module', path: fixture('slow-start/environment.ts') } });
    const reading = catalogue.scenarios('slow').catch((error: unknown) => error);
    await until(() => processesNamed('slow-start/environment.ts').length > 0);
    await catalogue.close();
    expect(await reading).toMatchObject({ code: 'shutting_down', headers: { 'retry-after': '5' } });
    expect(processesNamed('slow-start/environment.ts')).toEqual([]);
    await expect(catalogue.scenarios('slow')).rejects.toMatchObject({ code: 'shutting_down' });
  });
});

describe('the catalogue of a module', () => {
  let folder: string;
  const write = (version: string) =>
    writeFile(
      join(folder, 'environment.mjs'),
      `import { EnvironmentServer } from 'proctor';
       export default () => new EnvironmentServer({ name: 'changing', version: '${version}' });`,
    );

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'catalogue-'));
    await mkdir(join(folder, 'node_modules'));
    await symlink(fileURLToPath(new URL('../../..', import.meta.url)), join(folder, 'node_modules/proctor'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('is read again when its code has changed', async () => {
    await write('1.0.0');
    const catalogue = create({ changing: { kind: 'module', path: join(folder, 'environment.mjs') } });
    expect((await catalogue.list())[0]?.version).toBe('1.0.0');
    await write('2.0.0');
    await utimes(join(folder, 'environment.mjs'), 1, 1);
    expect((await catalogue.list())[0]?.version).toBe('2.0.0');
  });
});

describe('the tasks that scenarios declare', () => {
  function declaring(tasks: readonly { readonly id: string }[] | (() => Promise<{ id: string }[]>)): EnvironmentTarget {
    return inMemory(() => {
      const env = new EnvironmentServer({ name: 'inside' });
      env.scenario('one', { tasks }, async function* () {
        yield 'go';
        return 1;
      });
      env.scenario('two', {}, async function* () {
        yield 'go';
        return 1;
      });
      return env;
    });
  }

  it('are those of the environment, for scenarios that declare any', async () => {
    const catalogue = create({ demo: declaring([{ id: 'a' }]) });
    expect(catalogue.environments()).toEqual(['demo']);
    expect(await catalogue.declaringScenarios('demo')).toEqual(['one']);
    expect(await catalogue.declaredTasks('demo', 'one')).toEqual([{ id: 'a' }]);
    expect((await failureOf(catalogue.declaredTasks('demo', 'two'))).message).toBe(
      'The scenario "two" of the environment "demo" declares no tasks',
    );
    await expect(catalogue.declaredTasks('never', 'one')).rejects.toThrow('No environment is named "never"');
  });

  it('are an error of the environment where their function fails, and are asked for again', async () => {
    let asked = 0;
    const catalogue = create({
      demo: declaring(async () => {
        asked += 1;
        throw new Error('no data directory');
      }),
    });
    const failure = await failureOf(catalogue.declaredTasks('demo', 'one'));
    expect(failure).toMatchObject({ boundary: 'environment', code: 'environment_failed' });
    expect(failure.message).toContain('The tasks of the scenario "one" failed: no data directory');
    await failureOf(catalogue.declaredTasks('demo', 'one'));
    expect(asked).toBe(2);
  });

  it('are read by one session for all who ask at once', async () => {
    let asked = 0;
    const catalogue = create({
      demo: declaring(async () => {
        asked += 1;
        return [{ id: 'a' }];
      }),
    });
    await Promise.all([1, 2, 3].map(() => catalogue.declaredTasks('demo', 'one')));
    expect(asked).toBe(1);
  });

  it('of a module are read again when its code has changed', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'proctor-declared-'));
    try {
      const path = join(directory, 'environment.mjs');
      const write = async (id: string, mtime: number) => {
        const source = fileURLToPath(new URL('../../../dist/index.js', import.meta.url));
        const text = `import { EnvironmentServer } from ${JSON.stringify(source)};
const env = new EnvironmentServer({ name: 'module' });
env.scenario('one', { tasks: () => [{ id: ${JSON.stringify(id)} }] }, async function* () { yield 'go'; return 1; });
export default () => env;`;
        await writeFile(path, text);
        await utimes(path, mtime, mtime);
      };
      await write('before', 1_000);
      const catalogue = create({ module: { kind: 'module', path } });
      expect(await catalogue.declaredTasks('module', 'one')).toEqual([{ id: 'before' }]);
      await write('after', 2_000);
      expect(await catalogue.declaredTasks('module', 'one')).toEqual([{ id: 'after' }]);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });

  it('may be 100,000 in a process of their own', { timeout: 120_000 }, async () => {
    const directory = await mkdtemp(join(tmpdir(), 'proctor-declared-'));
    try {
      const path = join(directory, 'environment.mjs');
      const source = fileURLToPath(new URL('../../../dist/index.js', import.meta.url));
      const text = `import { EnvironmentServer } from ${JSON.stringify(source)};
const tasks = () => Array.from({ length: 100_000 }, (_, index) => ({ id: 'task-' + index, tags: ['many'] }));
export default () => {
  const env = new EnvironmentServer({ name: 'module' });
  env.scenario('one', { tasks }, async function* () { yield 'go'; return 1; });
  return env;
};`;
      await writeFile(path, text);
      const catalogue = create({ module: { kind: 'module', path } });
      const tasks = await catalogue.declaredTasks('module', 'one');
      expect(tasks).toHaveLength(100_000);
      expect(tasks.at(-1)).toEqual({ id: 'task-99999', tags: ['many'] });
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });
});
