import { readdirSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import type { EngineSandbox } from '../../../src/environment/sandbox/engine.ts';
import { inTime, MIB, run, type SandboxMaker, say, toProcess, until } from './engine-fixture.ts';

/** Programs in a row that must leave nothing. `PROCTOR_TEST_EXECS` asks for more. */
const IN_A_ROW = Number(process.env.PROCTOR_TEST_EXECS ?? 200);

export function describePrograms(made: () => SandboxMaker): void {
  describe('programs', () => {
    let box: EngineSandbox;
    beforeAll(async () => {
      box = await made().make();
    });

    it.each([0, 1, 2, 77])('give their exit code %i', async (code) => {
      expect(await run(box, `exit ${code}`)).toMatchObject({ exitCode: code, timedOut: false, truncated: false });
    });

    it('are 127 if they are unknown, and 126 if they cannot be run', async () => {
      expect((await run(box, ['no-such-program-here'])).exitCode).toBe(127);
      await say(box, 'printf hello > plain && chmod 644 plain');
      expect((await run(box, ['./plain'])).exitCode).toBe(126);
    });

    it('end with 128 plus the signal that ended them', async () => {
      expect((await run(box, 'kill -9 $$')).exitCode).toBe(137);
      expect((await run(box, 'kill -15 $$')).exitCode).toBe(143);
    });

    it('do not run with an unknown user or in an unknown folder', async () => {
      await expect(box.start(toProcess('touch ran', { user: 'nobody-knows' }), inTime())).rejects.toThrow(RangeError);
      await expect(box.start(toProcess('touch ran', { cwd: '/no/such' }), inTime())).rejects.toThrow(RangeError);
      await say(box, 'test ! -e ran');
      await say(box, 'touch plain-file');
      const inFile = toProcess('touch ran', { cwd: '/workspace/plain-file' });
      await expect(box.start(inFile, inTime())).rejects.toThrow(RangeError);
    });

    it('get their words as they are, without a shell', async () => {
      const words = ['a b', '$HOME', '*', '', "it's", 'zwei\nZeilen', '-n', 'ä€😀', 'A=1'];
      const { stdout } = await run(box, ['sh', '-c', 'for w in "$@"; do printf "<%s>" "$w"; done', 'sh', ...words]);
      expect(stdout).toBe(words.map((word) => `<${word}>`).join(''));
    });

    it('may have a name with an equals sign', async () => {
      await say(box, 'printf "#!/bin/sh\\necho ran\\n" > A=B && chmod 755 A=B');
      expect((await run(box, ['./A=B'])).stdout).toBe('ran\n');
    });

    it('get the variables that were given, and none of this machine', async () => {
      process.env.PROCTOR_SUITE_SECRET = 'of-the-machine';
      try {
        const { stdout } = await run(box, 'env', { env: { TWO: 'zwei = 2', THREE: 'a\nb' } });
        expect(stdout).toContain('TWO=zwei = 2\n');
        expect(stdout).toContain('THREE=a\nb\n');
        expect(stdout).toContain('GREETING=hello\n');
        expect(stdout).not.toContain('of-the-machine');
        if (!made().tested.isOpen) expect(stdout).not.toContain('PROCTOR_');
        expect(stdout).not.toContain('VITEST');
      } finally {
        delete process.env.PROCTOR_SUITE_SECRET;
      }
    });

    it('run in the folder that was asked for', async () => {
      await say(box, 'mkdir -p "a b/c"');
      const { stdout } = await run(box, 'pwd', { cwd: '/workspace/a b/c' });
      // Without a wall the folder has a path of this machine.
      expect(stdout).toContain('/a b/c\n');
      if (!made().tested.isOpen) expect(stdout).toBe('/workspace/a b/c\n');
    });

    it('have standard output and standard error apart', async () => {
      expect(await run(box, 'echo one; echo two >&2')).toMatchObject({ stdout: 'one\n', stderr: 'two\n' });
    });

    it('read their input to its end, and write afterwards', async () => {
      const { stdout } = await run(box, 'cat; sleep 0.2; echo late', { stdin: 'given\n' });
      expect(stdout).toBe('given\nlate\n');
    });

    it('may end without having read their input', async () => {
      expect((await run(box, 'exit 5', { stdin: 'x'.repeat(3 * MIB) })).exitCode).toBe(5);
    });

    it('take input of several MiB, and give it back', async () => {
      const stdin = Buffer.alloc(3 * MIB, 'abcdefgh');
      const { stdout, truncated } = await run(box, 'cat', { stdin, maxOutputBytes: 4 * MIB });
      expect(truncated).toBe(false);
      expect(Buffer.from(stdout).equals(stdin)).toBe(true);
    });

    it('may write exactly the limit, and one byte more is told', async () => {
      const exact = await run(box, 'head -c 65536 /dev/zero | tr "\\0" x', { maxOutputBytes: 65_536 });
      expect(exact).toMatchObject({ truncated: false, omittedBytes: 0, stdout: 'x'.repeat(65_536) });
      const more = await run(box, 'head -c 65537 /dev/zero | tr "\\0" x', { maxOutputBytes: 65_536 });
      expect(more).toMatchObject({ truncated: true, omittedBytes: 1, exitCode: 0 });
    });

    it('may write 5 MiB, of which beginning and end are kept', async () => {
      const loop = 'echo first; head -c 5242880 /dev/zero | tr "\\0" y; echo last; echo done >&2';
      const result = await run(box, loop, { maxOutputBytes: 4_096 });
      expect(result).toMatchObject({ exitCode: 0, truncated: true, stderr: 'done\n' });
      expect(result.stdout.startsWith('first\nyyy')).toBe(true);
      expect(result.stdout.endsWith('yyylast\n')).toBe(true);
      expect(result.stdout.length).toBeLessThan(4_200);
    });

    it('have ended although a child holds their output, and the child lives on', async () => {
      const result = await run(box, '(sleep 0.4; echo to-nobody; echo alive > child) & echo $!; exit 4');
      expect(result).toMatchObject({ exitCode: 4, timedOut: false });
      await until(box, '[ -s child ]');
    });

    it('have told all that they wrote before a child went on', async () => {
      const { stdout } = await run(box, 'sleep 20 & head -c 300000 /dev/zero | tr "\\0" z; exit 0');
      expect(stdout).toBe('z'.repeat(300_000));
      await box.start(toProcess('true'), inTime());
    });

    it('are ended at their time with their whole group', async () => {
      const result = await run(box, '( (sleep 3; touch survived) & ) ; echo begun; sleep 60', { timeoutMs: 700 });
      expect(result).toMatchObject({ timedOut: true, exitCode: 137, stdout: 'begun\n' });
      const left = await say(box, 'sleep 3.2; test ! -e survived && echo none');
      expect(left).toBe('none');
    });

    it('are ended when the signal is aborted, whose reason is thrown', async () => {
      const stop = new AbortController();
      const child = await box.start(toProcess('echo up; sleep 2; touch not-aborted'), inTime());
      await new Promise((resolve) => child.stdout.once('data', resolve));
      await child.kill();
      expect((await child.exited).exitCode ?? 137).toBe(137);
      const running = run(box, 'sleep 60', {}, stop.signal);
      stop.abort(new Error('enough'));
      await expect(running).rejects.toThrow('enough');
      await say(box, 'test ! -e not-aborted');
    });

    it('get signals, and one that was killed twice is no error', async () => {
      const child = await box.start(
        toProcess('trap "echo got; exit 9" TERM; echo up; while :; do sleep 0.05; done'),
        inTime(),
      );
      const chunks: string[] = [];
      child.stdout.on('data', (chunk) => chunks.push(String(chunk)));
      await new Promise((resolve) => child.stdout.once('data', resolve));
      await child.kill('SIGTERM');
      expect((await child.exited).exitCode).toBe(9);
      expect(chunks.join('')).toBe('up\ngot\n');
      await child.kill('SIGKILL');
    });

    it('do not run as root, and have a home that they can write', async () => {
      if (made().tested.isOpen) return;
      expect(Number(await say(box, 'id -u'))).toBeGreaterThan(0);
      await say(box, 'touch /workspace/mine && touch /tmp/mine');
      await say(box, 'touch /etc/mine 2>/dev/null && exit 1 || true');
    });

    it('run as another user for one call, where there is one', async () => {
      const { otherUser } = made().tested;
      if (otherUser === undefined) {
        await expect(box.start(toProcess('true', { user: 'root' }), inTime())).rejects.toThrow(RangeError);
        return;
      }
      const { stdout } = await run(box, 'id -u', { user: otherUser });
      expect(stdout).not.toBe((await run(box, 'id -u')).stdout);
    });

    it('leave no descriptor in this process, many in a row', { timeout: 600_000 }, async () => {
      await run(box, ['true']);
      const before = openDescriptors();
      for (let count = 0; count < IN_A_ROW; count += 1) expect((await run(box, ['true'])).exitCode).toBe(0);
      expect(openDescriptors()).toBeLessThanOrEqual(before + 8);
    });

    it('may be many at once', async () => {
      const all = await Promise.all(Array.from({ length: 12 }, (_, at) => run(box, `echo ${at}`)));
      expect(all.map(({ stdout }) => stdout)).toEqual(all.map((_, at) => `${at}\n`));
    });
  });

  describe('terminals', () => {
    it('give a program a size, a new size, and its end', async () => {
      const box = await made().make();
      const child = await box.start(
        toProcess('stty size; read x; stty size; exit 3', { pty: { columns: 90, rows: 20 } }),
        inTime(),
      );
      let text = '';
      const shown = new Promise<void>((resolve) =>
        child.stdout.on('data', (chunk) => {
          text += String(chunk);
          if (text.includes('20 90')) resolve();
        }),
      );
      await shown;
      await child.resize(100, 30);
      child.stdin.write('go\n');
      expect((await child.exited).exitCode).toBe(3);
      expect(text).toContain('30 100');
      await box.stop();
    });
  });
}

function openDescriptors(): number {
  return readdirSync('/proc/self/fd').length;
}
