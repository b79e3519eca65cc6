import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EnvironmentServer, type Sandbox } from 'proctor';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { EngineError } from '../../../src/environment/sandbox/engine.ts';
import { until } from '../../until.ts';
import { connectInMemory, evaluate, HARNESS, setup, textOf } from '../server/clients.ts';
import { enginesOf, FakeEngine } from './fake-engine.ts';

const AGENT = { 'svc/audience': 'agent' };
const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

async function localFolder(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'proctor-local-'));
  folders.push(folder);
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  return folder;
}

interface Played {
  /** Runs in the scenario before its prompt. */
  readonly before?: (box: Sandbox, args: { n: number }) => Promise<unknown>;
  /** Runs in the evaluation. What it returns is told. */
  readonly after?: (box: Sandbox) => Promise<unknown>;
  readonly grade?: 'live';
  readonly onClose?: (box: Sandbox) => Promise<unknown>;
}

/** An environment with one sandbox, a tool that runs commands of the agent, and one scenario. */
function environment({ before, after, grade, onClose }: Played, seen: unknown[] = []) {
  return class Boxed extends EnvironmentServer {
    readonly box = this.sandbox((args) => ({
      image: 'busy:1',
      files: { 'src/main.txt': `n is ${args.n}`, 'keep.txt': 'kept' },
      env: { PATH: process.env.PATH ?? '' },
    }));

    constructor() {
      super({ name: 'boxed' });
      this.tool('run', { args: { command: z.string() } }, async ({ command }) => {
        const { exitCode, stdout } = await this.box.exec(command);
        return `${exitCode} ${stdout.trim()}`;
      });
      const { box } = this;
      this.scenario('fix', { args: { n: z.int().default(1) }, ...(grade && { grade }) }, async function* (args) {
        await before?.(box, args);
        yield 'Fix it.';
        seen.push(await after?.(box));
        return 1;
      });
      this.close(async () => void (await onClose?.(this.box)));
    }
  };
}

async function open(played: Played, seen: unknown[] = [], engine = new FakeEngine()) {
  const made = environment(played, seen);
  const source = () => new made();
  const engines = enginesOf(engine, { owner: 'db-1' });
  const client = await connectInMemory(source, { meta: HARNESS, engines: async () => engines });
  const run = async (command: string) => await client.callTool({ name: 'run', arguments: { command }, _meta: AGENT });
  return { client, engine, run };
}

describe('the sandboxes of a session', () => {
  it('are made before the setup, of the arguments of the scenario, with the files in their folder', async () => {
    const read: string[] = [];
    const { client, engine } = await open({
      before: async (box) => read.push(Buffer.from(await box.files.read('src/main.txt')).toString()),
    });
    expect(engine.opened).toHaveLength(0);
    expect((await setup(client, 'fix', { n: 7 })).isError).toBeFalsy();
    expect(read).toEqual(['n is 7']);
    expect(engine.prepared).toEqual(['busy:1']);
    expect(engine.opened[0]?.spec).toMatchObject({
      name: 'main',
      workdir: '/workspace',
      network: { kind: 'none' },
      labels: { owner: 'db-1', environment: 'boxed', run: undefined },
      mounts: [],
    });
  });

  it('run commands of the agent, of which the exit code is a result', async () => {
    const { client, run } = await open({});
    await setup(client, 'fix');
    expect(textOf(await run('cat keep.txt'))).toBe('0 kept');
    expect(textOf(await run('exit 3'))).toBe('3 ');
  });

  it('end with the session, after the close hooks, and nothing is left', async () => {
    const closed: unknown[] = [];
    const { client, engine } = await open({
      onClose: async (box) => closed.push(Buffer.from(await box.files.read('keep.txt')).toString()),
    });
    await setup(client, 'fix');
    expect(engine.live).toHaveLength(1);
    await client.close();
    await until(() => engine.live.length === 0);
    expect(closed).toEqual(['kept']);
  });

  it('are new for each setup', async () => {
    const { client, engine, run } = await open({});
    await setup(client, 'fix');
    await run('rm keep.txt');
    await evaluate(client, 'fix');
    await setup(client, 'fix');
    expect(textOf(await run('cat keep.txt'))).toBe('0 kept');
    expect([engine.opened.length, engine.live.length]).toEqual([2, 1]);
  });

  it('are not open before a setup, which a tool says to the log and not to the agent', async () => {
    const { run } = await open({});
    expect(textOf(await run('true'))).toBe('The tool run failed');
  });

  it('are of one session: an instance that two sessions share is refused with the way out', async () => {
    const engine = new FakeEngine();
    const shared = new EnvironmentServer({ name: 'shared' });
    shared.sandbox({ image: 'x' });
    shared.scenario('one', {}, async function* () {
      yield 'Go.';
      return 1;
    });
    const engines = async () => enginesOf(engine);
    const [first, second] = await Promise.all([
      connectInMemory(shared, { meta: HARNESS, engines }),
      connectInMemory(shared, { meta: HARNESS, engines }),
    ]);
    expect((await setup(first, 'one')).isError).toBeFalsy();
    const refused = await setup(second, 'one');
    expect(refused.isError).toBe(true);
    expect(textOf(refused)).toContain('belongs to another session that is open: export the class');
    expect(engine.live).toHaveLength(1);
  });

  it('are all ended if one of them cannot be made', async () => {
    const engine = new FakeEngine();
    class Two extends EnvironmentServer {
      constructor() {
        super({ name: 'two' });
        this.sandbox('web', { image: 'x' });
        this.sandbox('db', () => {
          throw new Error('no dump of the database');
        });
        this.scenario('one', {}, async function* () {
          yield 'Go.';
          return 1;
        });
      }
    }
    const client = await connectInMemory(Two, { meta: HARNESS, engines: async () => enginesOf(engine) });
    expect(textOf(await setup(client, 'one'))).toContain('no dump of the database');
    expect([engine.opened.length, engine.live.length]).toEqual([1, 0]);
  });
});

describe('an evaluation', () => {
  it('finds all programs of the agent ended, and none can be started, while files can be read', async () => {
    const seen: unknown[] = [];
    const { client, engine, run } = await open(
      {
        after: async (box) => {
          const refused = await box.exec('true').catch((error: Error) => error.message);
          await box.freeze();
          return [box.isFrozen, refused, Buffer.from(await box.files.read('keep.txt')).toString()];
        },
      },
      seen,
    );
    await setup(client, 'fix');
    await run('sleep 60 > /dev/null 2>&1 &');
    await evaluate(client, 'fix');
    expect(seen[0]).toEqual([true, expect.stringContaining('The sandbox "main" is frozen: exec is refused'), 'kept']);
    expect(engine.opened[0]?.endedProcesses).toBe(1);
  });

  it('of a scenario with grade "live" can run programs beside those of the agent', async () => {
    const seen: unknown[] = [];
    const { client } = await open(
      { grade: 'live', after: async (box) => (await box.exec('echo $((1 + 1))')).stdout },
      seen,
    );
    await setup(client, 'fix');
    await evaluate(client, 'fix');
    expect(seen).toEqual(['2\n']);
  });

  it('has a fresh sandbox with the kept paths, in which programs run; a path that does not exist is left out', async () => {
    const seen: unknown[] = [];
    const { client, engine, run } = await open(
      {
        after: async (box) => {
          const fresh = await box.fresh({ keep: ['src', 'nowhere'] });
          await fresh.copyIn({ 'test/check.sh': 'cat src/main.txt; ls' });
          return (await fresh.exec(['sh', 'test/check.sh'])).stdout;
        },
      },
      seen,
    );
    await setup(client, 'fix');
    await run('echo changed > src/main.txt; rm keep.txt');
    await evaluate(client, 'fix');
    expect(seen).toEqual(['changed\nsrc\ntest\n']);
    await client.close();
    await until(() => engine.live.length === 0);
  });

  it('has a fresh sandbox of the frozen file system, which is removed with the session', async () => {
    const seen: unknown[] = [];
    const { client, engine, run } = await open(
      { grade: 'live', after: async (box) => (await (await box.fresh()).exec('cat new.txt keep.txt')).stdout },
      seen,
    );
    await setup(client, 'fix');
    await run('echo new > new.txt');
    await evaluate(client, 'fix');
    expect(seen).toEqual(['new\nkept']);
    expect(engine.opened[0]?.snapshots).toBe(1);
    await client.close();
    await until(() => engine.opened[0]?.snapshots === 0);
  });

  it('tells the harness what the agent changed; the files of the beginning count only where they differ', async () => {
    const { client, run } = await open({});
    await setup(client, 'fix');
    await run('echo 2 > src/main.txt; rm keep.txt; mkdir lib; echo 3 > lib/new.txt');
    const { _meta } = await evaluate(client, 'fix');
    expect(_meta?.['svc/sandboxes']).toEqual([
      {
        name: 'main',
        changes: { added: ['lib/new.txt'], changed: ['src/main.txt'], removed: ['keep.txt'] },
        omitted: 0,
        memory_kills: 0,
        problem: null,
      },
    ]);
  });
});

describe('a sandbox that fails', () => {
  it('by its agent is told to the harness with the result of the call', async () => {
    const { client, engine, run } = await open({});
    await setup(client, 'fix');
    const running = run('touch started; sleep 60');
    const [sandbox] = engine.opened;
    await until(() => existsSync(join(sandbox?.root ?? '', 'workspace/started')));
    sandbox?.lose({ by: 'agent', reason: 'was ended by its own command' });
    const { _meta, isError } = await running;
    expect([isError, _meta?.['svc/sandbox_fault']]).toEqual([
      true,
      { by: 'agent', reason: 'was ended by its own command' },
    ]);
  });

  it('is never told to an agent, also where each request proves its own sender', async () => {
    const key = 'k'.repeat(32);
    const harness = { ...HARNESS, 'svc/harness_key': key };
    const engine = new FakeEngine();
    const engines = enginesOf(engine, { owner: 'db-1' });
    const made = environment({});
    const options = { mode: 'modern', harnessKey: key, engines: async () => engines } as const;
    const client = await connectInMemory(() => new made(), options);
    const call = (name: string, args: object, _meta: object) =>
      client.callTool({ name, arguments: { ...args }, _meta: { ..._meta } });
    expect((await call('setup', { name: 'fix' }, harness)).isError).toBeFalsy();
    engine.opened[0]?.lose({ by: 'agent', reason: 'was ended by its own command' });
    const toAgent = await call('run', { command: 'true' }, {});
    expect(Object.keys(toAgent._meta ?? {}).filter((name) => name.startsWith('svc/sandbox'))).toEqual([]);
    const toHarness = await call('run', { command: 'true' }, { ...harness, ...AGENT });
    expect(toHarness._meta?.['svc/sandbox_fault']).toMatchObject({ by: 'agent' });
  });

  it('by its engine is told as a failure of the engine', async () => {
    const engine = new FakeEngine();
    engine.createError = new EngineError('create', 'No space left on the disk of the engine.');
    const { client } = await open({}, [], engine);
    const failed = await setup(client, 'fix');
    expect(textOf(failed)).toContain('No space left on the disk of the engine');
    expect(failed._meta?.['svc/sandbox_fault']).toMatchObject({ by: 'engine' });
    expect(engine.live).toHaveLength(0);
  });

  it('is waited for while the engine is away for a moment', async () => {
    const engine = new FakeEngine();
    engine.awayCalls = 2;
    const { client, run } = await open({}, [], engine);
    expect((await setup(client, 'fix')).isError).toBeFalsy();
    engine.awayCalls = 0;
    expect(textOf(await run('echo back'))).toBe('0 back');
  });
});

describe('a call of setup that only makes the sandboxes', () => {
  it('answers facts for the trace, and the setup that follows uses them', async () => {
    const { client, engine } = await open({});
    const meta = { 'svc/sandboxes': true, 'svc/run': 'a'.repeat(32) };
    const params = { name: 'setup', arguments: { name: 'fix', arguments: { n: 2 } }, _meta: meta };
    const { structuredContent } = await client.callTool(params);
    expect(structuredContent).toMatchObject({
      sandboxes: [
        {
          name: 'main',
          engine: 'fake',
          engine_version: '1.0',
          image: 'busy:1',
          digest: 'sha256:fake',
          network: 'none',
          limits: { memory_bytes: 2 ** 30, cpus: 1, processes: 256, disk_bytes: 2 ** 32 },
          not_enforced: {},
        },
      ],
    });
    await setup(client, 'fix', { n: 2 });
    expect(engine.opened).toHaveLength(1);
    expect(engine.opened[0]?.spec.labels.run).toBe('a'.repeat(32));
  });

  it('is made again for a setup with other arguments', async () => {
    const { client, engine } = await open({});
    const params = { name: 'setup', arguments: { name: 'fix', arguments: { n: 2 } }, _meta: { 'svc/sandboxes': true } };
    await client.callTool(params);
    await setup(client, 'fix', { n: 3 });
    expect([engine.opened.length, engine.live.length]).toEqual([2, 1]);
  });
});

describe('the start of an environment', () => {
  it('says why no sandbox can be made: a limit that the engine cannot enforce, unless the author accepts that', async () => {
    const engine = new FakeEngine();
    engine.notEnforced = { cpus: 'the kernel has no controller for processors' };
    const problemOf = async (options: object) => {
      const made = () => {
        const env = new EnvironmentServer({ name: 'limited' });
        env.sandbox({ image: 'x', ...options });
        return env;
      };
      const client = await connectInMemory(made, { meta: HARNESS, engines: async () => enginesOf(engine) });
      const { _meta } = await client.readResource({ uri: 'svc://scenarios', _meta: { 'svc/sandboxes': true } });
      return _meta?.['svc/sandbox_problem'];
    };
    expect(await problemOf({ cpus: 2 })).toMatch(
      /has the limit cpus, which fake cannot enforce here: the kernel has no controller.* set limits to "best-effort"/,
    );
    expect(await problemOf({ cpus: 2, limits: 'best-effort' })).toBeUndefined();
    expect(await problemOf({})).toBeUndefined();
  });

  it('says that an engine without images cannot make a sandbox of one', async () => {
    const engine = Object.assign(new FakeEngine(), { takesImages: false });
    const engines = enginesOf(engine, { engine: 'bubblewrap' });
    await expect(engines.ready('node:22', new AbortController().signal)).rejects.toThrow(
      'needs the image node:22, and the engine bubblewrap takes none: choose docker or kubernetes (--sandbox or PROCTOR_SANDBOX)',
    );
  });
});

describe('copies between this machine and a sandbox', () => {
  it('bring the content of a folder in, and out again without links that lead out', async () => {
    const from = await localFolder({ 'a.txt': 'A' });
    const to = await localFolder({});
    const seen: unknown[] = [];
    const { client, engine } = await open(
      {
        before: async (box) => {
          await box.copyIn(from, 'data');
          const [sandbox] = engine.opened;
          await symlink('/etc/passwd', join(sandbox?.root ?? '', 'workspace/data/link'));
          await box.copyOut('data', to);
          await box.copyOut('data/a.txt', join(to, 'one'));
        },
      },
      seen,
    );
    await setup(client, 'fix');
    expect(await readFile(join(to, 'a.txt'), 'utf8')).toBe('A');
    expect(await readFile(join(to, 'one/a.txt'), 'utf8')).toBe('A');
    await expect(readFile(join(to, 'link'))).rejects.toThrow('ENOENT');
  });
});
