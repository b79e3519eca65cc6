import { afterEach, describe, expect, it } from 'vitest';
import { openDocker } from '../../src/environment/sandbox/docker/engine.ts';
import type { Engine, EngineSandbox, SandboxSpec } from '../../src/environment/sandbox/engine.ts';
import { runExec } from '../../src/environment/sandbox/exec.ts';
import { FakeEngine, type FakeHandler, frame, INFO, speakAsWrapper, VERSION } from './fake-engine.ts';

const closing: (() => Promise<void>)[] = [];
const SPEC: SandboxSpec = {
  image: { kind: 'image', reference: 'sha256:1', digest: 'sha256:1', user: '' },
  name: 'main',
  workdir: '/workspace',
  user: undefined,
  env: {},
  limits: { memoryBytes: undefined, cpus: undefined, processes: undefined, diskBytes: undefined },
  network: { kind: 'none' },
  capabilities: 'default',
  mounts: [],
  labels: { owner: 'o', holder: 'h', run: undefined, session: 's', environment: 'e' },
  lifeMs: 60_000,
};

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function open(handler: FakeHandler): Promise<{ readonly engine: Engine; readonly fake: FakeEngine }> {
  const fake = await FakeEngine.start(handler);
  const engine = openDocker({ host: fake.url });
  closing.push(
    () => fake.close(),
    () => engine.close(),
  );
  return { engine, fake };
}

async function make(handler: FakeHandler): Promise<{ readonly box: EngineSandbox; readonly fake: FakeEngine }> {
  const { engine, fake } = await open(handler);
  const box = await engine.create(SPEC, inTime());
  closing.push(() => box.stop());
  return { box, fake };
}

function inTime(ms = 30_000): AbortSignal {
  return AbortSignal.timeout(ms);
}

function run(box: EngineSandbox) {
  const request = { command: ['true'], cwd: '/', env: {}, user: undefined, stdin: undefined };
  return runExec(box, { ...request, timeoutMs: 20_000, maxOutputBytes: 1_000 }, inTime());
}

describe('an engine that fails', () => {
  it('is unreachable where nothing listens, and the words name the way out', async () => {
    const engine = openDocker({ host: 'unix:///no/such.sock' });
    await expect(engine.check(inTime())).rejects.toMatchObject({
      fault: 'unreachable',
      message: expect.stringMatching(/unix:\/\/\/no\/such\.sock.*set DOCKER_HOST/s),
    });
  });

  it('is refused if it is reached by SSH', async () => {
    const engine = openDocker({ variables: { DOCKER_HOST: 'ssh://me@host' } });
    await expect(engine.check(inTime())).rejects.toMatchObject({ fault: 'refused', message: /SSH.*ssh -L/ });
  });

  it('gives up a call that it does not answer when the signal says so, and holds no connection', async () => {
    const { engine, fake } = await open(({ path }) => (path === '/info' ? 'silence' : undefined));
    const stop = new AbortController();
    const asking = engine.check(stop.signal);
    while (!fake.requests.some(({ path }) => path === '/info')) await new Promise(setImmediate);
    stop.abort(new Error('enough'));
    await expect(asking).rejects.toThrow('enough');
    while (fake.connections > 0) await new Promise(setImmediate);
  });

  it('is unreachable if it drops the connection', async () => {
    const { engine } = await open(({ path }) => (path === '/info' ? 'drop' : undefined));
    await expect(engine.check(inTime())).rejects.toMatchObject({ name: 'EngineError', fault: 'unreachable' });
  });

  it('is a fault of protocol if it answers with something else', async () => {
    const { engine } = await open(({ path }) => (path === '/info' ? { json: { MemTotal: 'much' } } : undefined));
    await expect(engine.check(inTime())).rejects.toMatchObject({ fault: 'protocol', message: /MemTotal/ });
  });

  it('is too old if it speaks no version that is known', async () => {
    const { engine } = await open(({ path }) =>
      path === '/version' ? { json: { ...VERSION, ApiVersion: '1.9' } } : undefined,
    );
    await expect(engine.check(inTime())).rejects.toMatchObject({ fault: 'refused', message: /1\.9.*1\.40/ });
  });

  it('is asked for its version once more if it was replaced', async () => {
    let api = '1.41';
    const { engine, fake } = await open(({ path, version }) => {
      if (path === '/version') return { json: { ...VERSION, ApiVersion: api, MinAPIVersion: api } };
      const words = 'client version 1.41 is too old. Minimum supported API version is 1.44';
      return version === api ? undefined : { json: { message: words }, status: 400 };
    });
    await engine.check(inTime());
    api = '1.44';
    await engine.check(inTime());
    expect(fake.requests.at(-1)).toMatchObject({ path: '/info', version: '1.44' });
  });

  it('has a full disk, which is told with the way out', async () => {
    const words = 'mkdir /var/lib/x: no space left on device';
    const { engine } = await open(({ path }) =>
      path === '/containers/create' ? { json: { message: words }, status: 500 } : undefined,
    );
    await expect(engine.create(SPEC, inTime())).rejects.toMatchObject({ fault: 'disk', message: /system prune/ });
  });

  it('leaves no container behind if the start is refused', async () => {
    const { engine, fake } = await open(({ path }) =>
      path.startsWith('/containers/') && path.endsWith('/start')
        ? { json: { message: 'no such runtime' }, status: 500 }
        : undefined,
    );
    await expect(engine.create(SPEC, inTime())).rejects.toMatchObject({ fault: 'create', message: /no such runtime/ });
    expect(fake.requests.filter(({ method }) => method === 'DELETE')).toHaveLength(1);
  });

  it('cannot enforce limits that it has no control groups for, and says why', async () => {
    const info = { ...INFO, MemoryLimit: false, SecurityOptions: ['name=rootless'], CgroupVersion: '1' };
    const { engine } = await open(({ path }) => (path === '/info' ? { json: info } : undefined));
    const { notEnforced } = await engine.check(inTime());
    expect(notEnforced).toMatchObject({ memory: expect.stringContaining('rootless'), disk: expect.any(String) });
  });
});

describe('a pull', () => {
  it('that failed in the stream of a success is an error', async () => {
    const { engine } = await open(({ path }) => {
      if (path === '/images/create')
        return { pieces: ['{"status":"Pulling"}\n', '{"errorDetail":{"message":"denied"}}'] };
      return path.startsWith('/images/') ? { json: { message: 'no such image' }, status: 404 } : undefined;
    });
    await expect(engine.prepare('private/x:1', inTime())).rejects.toMatchObject({ fault: 'image', message: /denied/ });
  });

  it('is one for all that wait for the image', async () => {
    let isThere = false;
    const { engine, fake } = await open(({ path }) => {
      if (path === '/images/create') {
        isThere = true;
        return { pieces: ['{"status":"done"}\n'] };
      }
      return path.startsWith('/images/') && !isThere ? { json: { message: 'none' }, status: 404 } : undefined;
    });
    const images = await Promise.all(Array.from({ length: 5 }, () => engine.prepare('x:1', inTime())));
    expect(new Set(images.map(({ digest }) => digest)).size).toBe(1);
    expect(fake.requests.filter(({ path }) => path === '/images/create')).toHaveLength(1);
  });
});

describe('a program of an engine that fails', () => {
  const execs =
    (upgraded: ReturnType<typeof speakAsWrapper>, state: unknown): FakeHandler =>
    ({ path }) => {
      if (path === '/exec/exec/start') return { upgraded };
      return path === '/exec/exec/json' ? { json: state } : undefined;
    };

  it('is read right however the stream is cut', async () => {
    const upgraded = speakAsWrapper((socket, say) => {
      const all = Buffer.concat([
        say('started 7'),
        frame(1, 'one\x1e'),
        frame(2, 'two'),
        frame(1, ''),
        say('ended 3'),
        say('ended', 2),
      ]);
      for (const byte of all) socket.write(Buffer.of(byte));
      socket.end();
    });
    const { box } = await make(execs(upgraded, { Running: false, ExitCode: 3 }));
    expect(await run(box)).toMatchObject({ exitCode: 3, stdout: 'one\x1e', stderr: 'two' });
  });

  it('has the exit code that comes late', async () => {
    let asked = 0;
    const upgraded = speakAsWrapper((socket, say) =>
      socket.end(Buffer.concat([say('started 7'), say('ended 5'), say('ended', 2)])),
    );
    const { box } = await make((request) => {
      if (request.path === '/exec/exec/start') return { upgraded };
      if (request.path !== '/exec/exec/json') return undefined;
      asked += 1;
      return { json: asked < 4 ? { Running: true, ExitCode: null } : { Running: false, ExitCode: 5 } };
    });
    expect(await run(box)).toMatchObject({ exitCode: 5 });
  });

  it('cannot tell its end by words that do not begin with the secret', async () => {
    const upgraded = speakAsWrapper((socket, say) => {
      socket.write(Buffer.concat([say('started 7'), frame(1, '\x1eguess held 0\n'), frame(2, '\x1eguess ended\n')]));
      socket.end(Buffer.concat([say('ended 1'), say('ended', 2)]));
    });
    const { box } = await make(execs(upgraded, { Running: false, ExitCode: 1 }));
    expect(await run(box)).toMatchObject({ exitCode: 1, stdout: '\x1eguess held 0\n' });
  });

  it('is lost with its sandbox, and the reason is told', async () => {
    let isGone = false;
    const upgraded = speakAsWrapper((socket, say) => {
      isGone = true;
      socket.end(say('started 7'));
    });
    const { box } = await make(({ path }) => {
      if (path === '/exec/exec/start') return { upgraded };
      if (!isGone) return undefined;
      if (path === '/events') return { pieces: [] };
      if (path.endsWith('/wait')) return { json: { StatusCode: 137 } };
      return path.startsWith('/containers/') || path.startsWith('/exec/')
        ? { json: { message: 'gone' }, status: 404 }
        : undefined;
    });
    await expect(run(box)).rejects.toMatchObject({ name: 'EngineError', fault: 'lost' });
  });
});
