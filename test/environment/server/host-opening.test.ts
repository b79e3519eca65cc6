import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Duplex } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { until } from '../../until.ts';
import { HOSTED } from '../process/hosts.ts';
import { ENVIRONMENT_MAIN, fixture } from './child.ts';
import { initializeBody } from './raw-http.ts';

const PATIENCE = { timeout: 60_000 } as const;
const SECRET = randomBytes(32).toString('base64url');
const SESSION = JSON.stringify({ session: 'one', harness_key: 'k'.repeat(32) });

interface Started {
  readonly socket: string;
  /** Lines that it wrote to the descriptor of its starter. */
  readonly told: string[];
  /** The text of its log. */
  log(): string;
  readonly exited: Promise<number | null>;
  /** Closes every descriptor, as a starter that dies does. */
  leave(): void;
}

function createFolder(mode = 0o700): string {
  const folder = mkdtempSync(join(tmpdir(), 'proctor-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const inner = join(folder, 'h');
  mkdirSync(inner, { mode });
  return inner;
}

/** A process that is told to be a host by what its descriptor 3 carries. */
async function start(
  socket = join(createFolder(), 's'),
  first?: string,
  module = fixture('adversary.ts'),
  env: Readonly<Record<string, string>> = {},
): Promise<Started> {
  const child = spawn(process.execPath, [ENVIRONMENT_MAIN, module], {
    env: { PATH: process.env.PATH, ...env, PROCTOR_HOST_FD: '3' },
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let text = '';
  child.stderr?.on('data', (chunk) => {
    text += chunk;
  });
  const control = child.stdio[3] as Duplex;
  control.on('error', () => {});
  const told: string[] = [];
  createInterface(control).on('line', (line) => void told.push(line));
  let hasExited = false;
  const exited = once(child, 'exit').then(([code]) => {
    hasExited = true;
    return code as number | null;
  });
  control.write(`${first ?? JSON.stringify({ kind: 'start', socket, secret: SECRET })}\n`);
  await until(() => hasExited || told.some((line) => line.includes('"listening"')));
  const leave = () => {
    for (const stream of child.stdio) stream?.destroy();
  };
  return { socket, told, log: () => text, exited, leave };
}

/** Sends bytes, then gives all that is answered until the connection is closed. */
async function answerTo(socket: string, bytes: string, isEnded = false): Promise<string> {
  const connection = connect(socket);
  let answer = '';
  connection.setEncoding('utf8').on('data', (text: string) => {
    answer += text;
  });
  connection.on('error', () => {});
  if (isEnded) connection.end(bytes);
  else connection.write(bytes);
  await once(connection, 'close');
  return answer;
}

const INITIALIZE = initializeBody('2025-11-25', {});

describe('the socket of a host', PATIENCE, () => {
  it('is its user’s alone', async () => {
    const { socket } = await start();
    expect(statSync(socket).mode & 0o777).toBe(0o600);
  });

  it('answers nothing to who does not begin with the secret', async () => {
    const { socket } = await start();
    const wrong = ['', 'x', `${SECRET}x`, SECRET.slice(1), SECRET.toUpperCase(), `"${SECRET}"`, SESSION, INITIALIZE];
    for (const first of wrong) {
      expect(await answerTo(socket, `${first}\n${SESSION}\n${INITIALIZE}\n`)).toBe('');
    }
  });

  it('answers nothing to who names no session, or gives it no key', async () => {
    const { socket } = await start();
    const wrong = [
      '',
      '{',
      '{}',
      '{"session":"one"}',
      '{"session":"","harness_key":"kkkkkkkkkkkkkkkkkkkk"}',
      INITIALIZE,
    ];
    for (const second of [...wrong, '{"session":"one","harness_key":""}', '[]', 'null']) {
      expect(await answerTo(socket, `${SECRET}\n${second}\n${INITIALIZE}\n`)).toBe('');
    }
  });

  it('answers nothing to a first line without an end, to one that is cut off, and to silence', async () => {
    const { socket } = await start();
    expect(await answerTo(socket, SECRET.padEnd(4_096, 'x'))).toBe('');
    expect(await answerTo(socket, `${SECRET}\n${' '.repeat(4_096)}`)).toBe('');
    expect(await answerTo(socket, SECRET, true)).toBe('');
    // Within the limit of time.
    expect(await answerTo(socket, SECRET.slice(5))).toBe('');
  });

  it('serves who does, however the bytes come, and ends with the connection', async () => {
    const { socket } = await start();
    const whole = `${SECRET}\n${SESSION}\n${INITIALIZE}\n`;
    const connection = connect(socket);
    let answer = '';
    connection.setEncoding('utf8').on('data', (text: string) => {
      answer += text;
    });
    for (const part of [whole.slice(0, 7), whole.slice(7, 60), whole.slice(60, 150), whole.slice(150)]) {
      connection.write(part);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await until(() => answer.endsWith('\n'));
    expect(JSON.parse(answer)).toMatchObject({
      id: 0,
      result: { serverInfo: { name: 'adversary' }, _meta: { 'svc/sessions_per_process': 1 } },
    });
    connection.end();
    await once(connection, 'close');
  });

  it('replaces what an earlier process left at its path, and is removed with the process', async () => {
    const path = join(createFolder(), 's');
    writeFileSync(path, 'left behind');
    const { leave, exited } = await start(path);
    expect(statSync(path).isSocket()).toBe(true);
    leave();
    expect(await exited).toBe(0);
    expect(() => statSync(path)).toThrow('ENOENT');
  });

  it('ends with its starter: close hooks run for every session, also where nobody takes what they print', async () => {
    const folder = createFolder();
    const notes = join(folder, 'notes');
    const { socket, leave, exited } = await start(join(createFolder(), 's'), undefined, HOSTED, { NOTES: notes });
    const connections = await Promise.all(
      [1, 2, 3].map(async (number) => {
        const connection = connect(socket);
        const session = JSON.stringify({ session: `number ${number}`, harness_key: 'k'.repeat(32) });
        connection.write(`${SECRET}\n${session}\n${INITIALIZE}\n`);
        await once(connection, 'data');
        return connection;
      }),
    );
    leave();
    for (const connection of connections) connection.destroy();
    expect(await exited).toBe(0);
    expect(readFileSync(notes, 'utf8')).toBe('close undefined\n'.repeat(3));
    expect(existsSync(dirname(socket))).toBe(false);
  });

  it.each([
    ['\0abstract', 'absolute path'],
    ['relative', 'absolute path'],
    [`/${'x'.repeat(99)}`, 'may have 99 bytes'],
  ])('is not made at %j', async (path, problem) => {
    const { exited, log } = await start(path);
    expect(await exited).toBe(1);
    expect(log()).toContain(problem);
  });

  it('is not made where others may look', async () => {
    const { exited, log, socket } = await start(join(createFolder(0o755), 's'));
    expect(await exited).toBe(1);
    expect(log()).toContain(`alone (0700): ${dirname(socket)}`);
  });

  it('is not made after a first line that is no start, which is not quoted', async () => {
    const { exited, log } = await start(undefined, `{"kind":"start","secret":"${SECRET}"}`);
    expect(await exited).toBe(1);
    expect(log()).toContain('the first line is not that of a start');
    expect(log()).not.toContain(SECRET);
  });
});
