import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { fixture } from './child.ts';
import { exchange } from './hostile-exchange.ts';
import { type HostileRequest, hostileRequest, type OpenSessions } from './hostile-requests.ts';
import { Random } from './random.ts';
import { openSession, rpc, send } from './raw-http.ts';

/** `FUZZ_REQUESTS=100000` is the full form; `FUZZ_SEED` plays a run again. */
const REQUESTS = Number(process.env.FUZZ_REQUESTS ?? 3_000);
const SEED = Number(process.env.FUZZ_SEED ?? 1);
const CONNECTIONS = 12;
/** Of the fixture. */
const MAX_SESSIONS = 40;
/** More of them say nothing new. */
const MAX_FAILURES = 20;
/** Each takes a tenth of a second. */
const MAX_LOOKS = 50;
const MIB = 1024 * 1024;
/** Caches fill, and sessions are at different calls. In the full form it would be fifty bytes a request. */
const MAX_GROWTH = 4 * MIB;

/** What the server holds, after a forced collection. */
interface State {
  readonly sessions: number;
  readonly calls: number;
  readonly sockets: number;
  /** Bytes of live heap and of buffers. */
  readonly memory: number;
  readonly reports: readonly string[];
}

test(
  `${REQUESTS} hostile requests get answers that the protocol allows, and leave nothing behind`,
  async () => {
    const server = spawn(process.execPath, ['--expose-gc', '--import', 'tsx', fixture('fuzzed.ts')], {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    onTestFinished(() => void server.kill('SIGKILL'));
    let stderr = '';
    server.stderr?.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    const port = (await ask(server, 'port')) as number;
    const attacked: Attacked = { port, seen: new Map(), failures: [] };

    // The first part compiles and fills what stays: what it leaves is what the rest is measured by.
    const warmUp = Math.ceil(REQUESTS / 5);
    await attack(attacked, 0, warmUp);
    const before = await settled(server);
    await attack(attacked, warmUp, REQUESTS);
    const after = await settled(server);

    const memory = `${mebibytes(before)} and ${mebibytes(after)}`;
    console.log(`${REQUESTS} hostile requests (seed ${SEED}), live memory ${memory}\n${describe(attacked)}`);
    expect(attacked.failures.join('\n\n')).toBe('');
    expect([server.exitCode, stderr]).toEqual([null, '']);
    expect(after).toMatchObject({ calls: 0, sockets: 0 });
    expect(after.sessions).toBeLessThanOrEqual(MAX_SESSIONS);
    const reports = [...before.reports, ...after.reports];
    expect(reports.filter((report) => !IS_OF_CONNECTION.test(report))).toEqual([]);
    expect(after.memory).toBeLessThan(before.memory + MAX_GROWTH);
    // It still serves.
    const url = `http://127.0.0.1:${port}/mcp`;
    const headers = { 'mcp-session-id': await openSession(url) };
    const sum = await send(url, { headers, body: rpc('tools/call', { name: 'add', arguments: { a: 41 } }) });
    expect(JSON.parse(sum.text).result.content).toEqual([{ type: 'text', text: '42' }]);
    expect((await send(url, { method: 'DELETE', headers })).status).toBe(204);
  },
  120_000 + REQUESTS * 20,
);

/** What the log is told of a client that sends what means nothing: an answer to no question, progress of no request. */
const IS_OF_CONNECTION = /^The connection: /;

interface Attacked {
  readonly port: number;
  /** Counts of answers by what they answered. */
  readonly seen: Map<string, number>;
  readonly failures: string[];
}

/** Plays the requests from `first` to before `end`, some at a time. */
async function attack(attacked: Attacked, first: number, end: number): Promise<void> {
  const { port, seen, failures } = attacked;
  let next = first;
  const attacker = async () => {
    let sessions: OpenSessions | undefined;
    while (next < end && failures.length < MAX_FAILURES) {
      const index = next++;
      sessions ??= await open(port);
      const random = new Random(SEED * 1_000_003 + index);
      const request = hostileRequest(random, sessions);
      const statuses = await play(attacked, request, random, index);
      for (const status of statuses) {
        const answer = `${status} to ${request.kind}`;
        seen.set(answer, (seen.get(answer) ?? 0) + 1);
      }
      // Others have needed its place, or it has been ended.
      if (statuses.includes(404)) sessions = undefined;
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, attacker));
}

/** The statuses of its answers; what is wrong with them is added to `failures`. */
async function play(
  { port, failures }: Attacked,
  request: HostileRequest,
  random: Random,
  index: number,
): Promise<readonly number[]> {
  try {
    return (await exchange(port, request, random)).map(({ status }) => status);
  } catch (error) {
    const sent = JSON.stringify(request.bytes.subarray(0, 1_000).toString('latin1'));
    failures.push(`Request ${index} of seed ${SEED}, ${request.kind}: ${String(error)}\nsent ${sent}`);
    return [];
  }
}

async function open(port: number): Promise<OpenSessions> {
  const url = `http://127.0.0.1:${port}/mcp`;
  return { current: await openSession(url), batching: await openSession(url, '2025-03-26') };
}

/** The state once nothing of what was sent is under way; as it is where that does not come. */
async function settled(server: ChildProcess): Promise<State> {
  for (let look = 0; ; look += 1) {
    const state = (await ask(server, 'state')) as State;
    if ((state.calls === 0 && state.sockets === 0) || look === MAX_LOOKS) return state;
  }
}

async function ask(server: ChildProcess, question: string): Promise<unknown> {
  const ended = new AbortController();
  const onExit = () => ended.abort(new Error(`The server has ended with ${server.exitCode ?? server.signalCode}`));
  server.once('exit', onExit);
  try {
    server.send(question);
    const [answer] = await once(server, 'message', { signal: ended.signal });
    return answer;
  } catch (error) {
    ended.signal.throwIfAborted();
    throw error;
  } finally {
    server.off('exit', onExit);
  }
}

const mebibytes = ({ memory }: State) => `${(memory / MIB).toFixed(1)} MiB`;

function describe({ seen }: Attacked): string {
  return [...seen]
    .sort()
    .map(([answer, count]) => `  ${count} × ${answer}`)
    .join('\n');
}
