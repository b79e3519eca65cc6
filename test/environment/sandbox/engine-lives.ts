import { createServer, type Server } from 'node:net';
import { describe, expect, it } from 'vitest';
import {
  COPY,
  collect,
  file,
  inTime,
  MIB,
  run,
  type SandboxMaker,
  say,
  textOf,
  toProcess,
  until,
} from './engine-fixture.ts';

/** Writes the number of seconds that a loop has lived, as long as it lives. */
const BEAT = 'while :; do date +%s%N >> beat; sleep 0.05; done';

export function describeLives(made: () => SandboxMaker): void {
  describe('the end of processes', () => {
    it('takes all that runs inside, also what left its group, and leaves the files', async () => {
      const box = await made().make();
      await run(box, `setsid sh -c '${BEAT}' > /dev/null 2>&1 < /dev/null & (setsid sh -c '${BEAT}' &) ; exit 0`);
      await until(box, '[ -s beat ]');
      const running = await box.start(toProcess('echo up; sleep 60'), inTime());
      await box.endProcesses(inTime());
      await running.exited.catch(() => {});
      const before = textOf((await collect(box.get('/workspace/beat', COPY, inTime())))['.']).length;
      await new Promise((resolve) => setTimeout(resolve, 300));
      expect(textOf((await collect(box.get('/workspace/beat', COPY, inTime())))['.']).length).toBe(before);
      await box.put([file('after', 'x')], '/workspace', inTime());
      expect(await box.stat('/workspace/after', inTime())).toMatchObject({ size: 1 });
      await box.endProcesses(inTime());
      await box.stop();
    });
  });

  describe('a frozen file system', () => {
    it('is the beginning of another sandbox, and does not change with it', async () => {
      const first = await made().make();
      await say(first, 'mkdir -p d && echo one > d/f && chmod 750 d && ln -s d/f link');
      await first.endProcesses(inTime());
      const frozen = await first.snapshot(inTime());
      await first.stop();
      const second = await made().make({ image: frozen });
      expect(await say(second, 'cat link; echo two > d/f; stat -c %a d')).toBe('one\n750');
      const third = await made().make({ image: frozen });
      expect(await say(third, 'cat d/f')).toBe('one');
      await Promise.all([second.stop(), third.stop()]);
      await frozen.remove();
      await frozen.remove();
    });
  });

  describe('changes', () => {
    it('name what was added, changed and removed since the start', async () => {
      const base = await made().make();
      await base.put(
        [file('kept', 'a'), file('edited', 'b'), file('dropped', 'c'), file('sub/f', 'd')],
        '/workspace',
        inTime(),
      );
      await base.endProcesses(inTime());
      const frozen = await base.snapshot(inTime());
      const box = await made().make({ image: frozen });
      await say(box, 'echo more >> edited && rm dropped && mkdir new && touch new/f');
      const changes = await box.changes(inTime());
      const below = (paths: readonly string[]) => paths.filter((path) => path.startsWith('/workspace/')).sort();
      expect(below(changes.added)).toEqual(['/workspace/new', '/workspace/new/f']);
      expect(below(changes.changed)).toEqual(['/workspace/edited']);
      expect(below(changes.removed)).toEqual(['/workspace/dropped']);
      await Promise.all([base.stop(), box.stop()]);
      await frozen.remove();
    });
  });

  describe('limits', () => {
    it('end programs that take more memory together, which is told and leaves the sandbox alive', async () => {
      const { tested } = made();
      const { notEnforced } = await tested.engine.check(inTime());
      if (notEnforced.memory !== undefined) return;
      const limits = { memoryBytes: 64 * MIB, cpus: undefined, processes: 64, diskBytes: undefined };
      const box = await made().make({ limits });
      const eat = '(dd if=/dev/zero of=/dev/null bs=40M 2>/dev/null; echo dead > f) &';
      const result = await run(box, `mkfifo f; ${eat} ${eat} read x < f; exit 137`, { timeoutMs: 30_000 });
      expect(result).toMatchObject({ exitCode: 137, timedOut: false, outOfMemory: true });
      expect(await box.memoryKills(inTime())).toBeGreaterThan(0);
      expect(await say(box, 'echo alive')).toBe('alive');
      await box.stop();
    });

    it('stop programs that start more processes than are allowed', async () => {
      const { tested } = made();
      const { notEnforced } = await tested.engine.check(inTime());
      if (tested.isOpen || notEnforced.processes !== undefined) return;
      const limits = { memoryBytes: 256 * MIB, cpus: undefined, processes: 24, diskBytes: undefined };
      const box = await made().make({ limits });
      const started = 'i=0; while [ $i -lt 60 ]; do sleep 30 & i=$((i+1)); done; exit 0';
      const { exitCode, timedOut } = await run(box, started, { timeoutMs: 20_000 });
      expect(timedOut || exitCode !== 0).toBe(true);
      await box.endProcesses(inTime());
      await box.stop();
    });
  });

  describe('the network', () => {
    it('of the kind none reaches nothing but the sandbox itself', async () => {
      if (made().tested.isOpen) return;
      const box = await made().make();
      const others = await say(box, 'tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d " "');
      expect(
        others.split('\n').filter((name) => name !== 'lo' && !/^(tunl|gre|gretap|erspan|ip_vti|ip6|sit)/.test(name)),
      ).toEqual([]);
      await expect(box.expose(8_080, inTime())).rejects.toThrow(RangeError);
      await box.stop();
    });

    it('of a proxy reaches the proxy alone, and its ports are exposed to the harness', async () => {
      if (made().tested.isOpen) return;
      const { proxy, listens, close } = countingProxy();
      const box = await made().make({ network: { kind: 'proxy', proxy } });
      expect(listens()).toBeGreaterThan(0);
      const variables = await say(box, 'env | grep -i _proxy');
      expect(variables).toMatch(/^http_proxy=http:\/\/user:word@/m);
      expect(variables).toMatch(/^HTTPS_PROXY=http:\/\/user:word@/m);
      await box.stop();
      await close();
    });
  });

  describe('several sandboxes', () => {
    it('see neither files nor processes of each other', async () => {
      if (made().tested.isOpen) return;
      const [one, two] = await Promise.all([made().make(), made().make()]);
      await run(
        one,
        'echo secret > mine; echo secret > /tmp/mine; setsid sleep 4321 > /dev/null 2>&1 < /dev/null & exit 0',
      );
      await say(two, 'test ! -e mine && test ! -e /tmp/mine');
      expect(await say(two, 'cat /proc/[0-9]*/cmdline | tr "\\0" " "')).not.toMatch(/sleep 4321 /);
      await Promise.all([one.stop(), two.stop()]);
    });
  });

  describe('an end', () => {
    it('that was asked for twice is one, takes running programs, and is no loss', async () => {
      const box = await made().make();
      let isLost = false;
      void box.lost.then(() => {
        isLost = true;
      });
      const running = await box.start(toProcess('sleep 60'), inTime());
      const ended = running.exited.then(
        () => 'ended',
        () => 'ended',
      );
      await Promise.all([box.stop(), box.stop()]);
      await box.stop();
      expect(await ended).toBe('ended');
      expect(isLost).toBe(false);
      await expect(box.start(toProcess('true'), inTime())).rejects.toThrow();
    });

    it('leaves nothing, and until then the sandbox is listed for its owner alone', async () => {
      const { tested, owner } = made();
      const box = await made().make();
      const [record] = (await tested.engine.list(owner, inTime())).filter(({ id }) => id === box.id);
      expect(record).toMatchObject({ id: box.id, labels: { owner, holder: 'suite', environment: 'suite' } });
      expect(await tested.engine.list('of-another-database', inTime())).toEqual([]);
      await box.stop();
      expect((await tested.engine.list(owner, inTime())).map(({ id }) => id)).not.toContain(box.id);
      await made().close();
      expect(await tested.leftovers(owner)).toEqual([]);
    });

    it('by remove, from another process, is a loss', async () => {
      const { tested } = made();
      const box = await made().make();
      await tested.engine.remove(box.id, inTime());
      expect((await box.lost).by).toBe('engine');
      await tested.engine.remove(box.id, inTime());
      await box.stop();
    });

    it('after the time of its life is a loss', async () => {
      const box = await made().make({ lifeMs: 1_500 });
      expect((await box.lost).by).toBe('engine');
      await box.stop();
    });
  });
}

/** A proxy that only counts who asks it to listen. */
function countingProxy() {
  const servers: Server[] = [];
  const proxy = {
    credential: { name: 'user', password: 'word' },
    async listen(at: { readonly host: string } | { readonly socketPath: string }): Promise<{ readonly port: number }> {
      const server = createServer((socket) => socket.end('the proxy'));
      servers.push(server);
      await new Promise<void>((resolve) =>
        'host' in at ? server.listen(0, at.host, resolve) : server.listen(at.socketPath, resolve),
      );
      const address = server.address();
      return { port: typeof address === 'object' && address !== null ? address.port : 0 };
    },
  };
  const close = async () => {
    for (const server of servers) await new Promise((resolve) => server.close(resolve));
  };
  return { proxy, listens: () => servers.length, close };
}
