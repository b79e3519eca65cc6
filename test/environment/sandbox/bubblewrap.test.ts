import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openBubblewrap } from '../../../src/environment/sandbox/bubblewrap/engine.ts';
import type { EngineSandbox } from '../../../src/environment/sandbox/engine.ts';
import { COPY, collect, inTime, run, SandboxMaker, say, textOf, toProcess, until } from './engine-fixture.ts';
import { underTest } from './local-engines.ts';

const ANSWERING = `require('node:net').createServer((s) => s.end('from inside')).listen(8080, '127.0.0.1', () => console.log('up'))`;
const asking = (port: number) =>
  `require('node:net').connect(${port}, '127.0.0.1').on('data', (d) => console.log(String(d))).on('error', (e) => console.log(e.code))`;

describe('a sandbox of bubblewrap', { timeout: 60_000 }, () => {
  let maker: SandboxMaker;
  let box: EngineSandbox;
  beforeAll(async () => {
    maker = new SandboxMaker(await underTest(openBubblewrap()));
    box = await maker.make();
  }, 60_000);
  afterAll(async () => {
    await maker.close();
    await maker.tested.close();
  });

  it('lets no program make a user namespace', async () => {
    const { exitCode } = await run(box, ['unshare', '--user', 'true']);
    expect(exitCode).not.toBe(0);
  });

  it('opens no setting of the kernel for writing', async () => {
    // Opened only: nothing is written even if it can be.
    const { exitCode, stderr } = await run(box, 'exec 3<> /proc/sys/kernel/hostname');
    expect(exitCode).not.toBe(0);
    expect(stderr).toMatch(/Read-only|denied/);
  });

  it('gives programs no right, no way to one, and no descriptor', async () => {
    const status = await say(box, 'grep -E "^(CapPrm|CapEff|NoNewPrivs)" /proc/self/status | tr -s "\\t\\n" "  "');
    expect(status).toMatch(/CapPrm: 0{16} CapEff: 0{16} NoNewPrivs: 1/);
    // A number that this process was started with is taken, and leads to nothing.
    const others = await say(
      box,
      // biome-ignore lint/suspicious/noTemplateCurlyInString: it is a variable of the shell.
      'for fd in /proc/$$/fd/*; do case ${fd##*/} in 0|1|2) ;; *) readlink $fd || :;; esac; done',
    );
    expect(others.split('\n').filter((path) => path !== '' && path !== '/dev/null')).toEqual([]);
  });

  it('runs nothing of the variables before rights are gone', async () => {
    const { stderr } = await run(box, ['true'], { env: { LD_PRELOAD: '/workspace/none.so' } });
    expect(stderr.match(/none\.so/g)).toHaveLength(1);
  });

  it('outlives a program that kills all that it can', async () => {
    await run(box, 'kill -9 1; kill -9 -1');
    expect(await say(box, 'echo alive')).toBe('alive');
  });

  it('has one loopback for all its programs, whose ports the harness reaches if they are exposed', async () => {
    const { proxy, close } = await answeringProxy();
    const open = await maker.make({ network: { kind: 'proxy', proxy } });
    const server = await open.start(toProcess(['node', '-e', ANSWERING]), inTime());
    await once(server.stdout, 'data');
    expect((await run(open, ['node', '-e', asking(8_080)])).stdout).toBe('from inside\n');
    expect((await run(open, ['node', '-e', asking(3_128)])).stdout).toBe('the proxy\n');
    const { host, port } = await open.expose(8_080, inTime());
    const answer = await fetchText(host, port);
    expect(answer).toBe('from inside');
    await open.stop();
    await close();
  });

  it('is gone when the process that holds it was killed, and its folder is found and removed', async () => {
    const module = new URL('../../../src/environment/sandbox/bubblewrap/engine.ts', import.meta.url).href;
    const { owner } = maker;
    const program = `
      const { openBubblewrap } = await import(${JSON.stringify(module)});
      const box = await openBubblewrap().create({ image: undefined, name: 'main', workdir: '/workspace', user: undefined,
        env: {}, limits: {}, network: { kind: 'none' }, capabilities: 'default', mounts: [], lifeMs: 60000,
        labels: { owner: ${JSON.stringify(owner)}, holder: 'killed', session: 's', environment: 'e' } }, AbortSignal.timeout(20000));
      await box.start({ command: ['sh', '-c', 'while :; do date +%N >> beat; sleep 0.05; done'], cwd: '/workspace', env: {} }, AbortSignal.timeout(20000));
      console.log('up');`;
    const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    child.kill('SIGKILL');
    await once(child, 'close');
    const { engine } = maker.tested;
    const [left] = (await engine.list(owner, inTime())).filter(({ labels }) => labels.holder === 'killed');
    if (left === undefined) throw new Error('The sandbox is not listed');
    await engine.remove(left.id, inTime());
    expect((await engine.list(owner, inTime())).map(({ id }) => id)).not.toContain(left.id);
  });

  it('refuses workdirs that hide programs', async () => {
    await expect(maker.make({ workdir: '/usr/bin' })).rejects.toThrow(RangeError);
    await expect(maker.make({ workdir: '/' })).rejects.toThrow(RangeError);
  });

  it('is over its disk only until it is noticed', async () => {
    const limits = { memoryBytes: undefined, cpus: undefined, processes: undefined, diskBytes: 1024 * 1024 };
    const full = await maker.make({ limits });
    const writing = await run(full, 'for i in 1 2 3 4; do head -c 500000 /dev/zero > part$i; done; sleep 60', {
      timeoutMs: 30_000,
    });
    expect(writing).toMatchObject({ exitCode: 137, timedOut: false });
    await full.stop();
  });

  it('gives files of programs that still write', async () => {
    await run(box, '(while :; do echo line >> growing; done) > /dev/null 2>&1 & exit 0');
    await until(box, '[ -s growing ]');
    expect(textOf((await collect(box.get('/workspace/growing', COPY, inTime())))['.'])).toContain('line');
    await run(box, 'kill -9 -1');
  });
});

async function fetchText(host: string, port: number): Promise<string> {
  const { connect } = await import('node:net');
  const socket = connect(port, host);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(socket, 'close');
  return Buffer.concat(chunks).toString('utf8');
}

async function answeringProxy() {
  const servers: Server[] = [];
  const proxy = {
    credential: { name: 'user', password: 'word' },
    async listen(at: { readonly host: string } | { readonly socketPath: string }): Promise<{ readonly port: number }> {
      const server = createServer((socket) => socket.end('the proxy'));
      servers.push(server);
      await new Promise<void>((resolve) =>
        'host' in at ? server.listen(0, at.host, resolve) : server.listen(at.socketPath, resolve),
      );
      return { port: 0 };
    },
  };
  return {
    proxy,
    close: async () => {
      for (const server of servers) await new Promise((resolve) => server.close(resolve));
    },
  };
}
