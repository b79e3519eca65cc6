import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { FinishedSession, Svc } from '../../../src/contract/session.ts';
import { createProject, start } from '../../cli/command.ts';
import { environmentsOf } from '../../cli/processes.ts';
import { isRunning } from '../../environment/client/processes.ts';
import { connect, httpTransport, serveHttp } from '../../environment/server/clients.ts';
import { freePort } from '../../free-port.ts';
import { calls, type Play, says, startGateway } from '../../gateway.ts';
import { send } from '../../support/http/http-server.ts';
import { until } from '../../until.ts';
import createDesk from './fixtures/desk.ts';
import { beginStream } from './open-chat.ts';
import { counting, errorOf, finishedOf, framesOf, sessionsOf, svcOf } from './server.ts';

const SESSIONS = 40;
/** Of them; the others' environment is at an address. */
const IN_PROCESSES = 8;

const SURFACES = ['plain', 'streamed', 'lifecycle', 'mcp'] as const;
/** What a turn is in when the signal comes: the model, before or inside its text, or a tool. "Slow." is answered after it. */
const MESSAGES = ['Silent.', 'Half.', 'Tool.', 'Slow.'] as const;

/** A gateway that answers by the last words of the user; those of `MESSAGES` stay open. */
async function startLoad() {
  const slow: (() => unknown)[] = [];
  let asked = 0;
  const play: Play = (response) => {
    const messages = gateway.requests.at(-1)?.body.messages as readonly { role: string; content: string }[] | undefined;
    const said = messages?.findLast(({ role }) => role === 'user')?.content ?? '';
    const last = messages?.at(-1);
    if (!MESSAGES.some((message) => message === said) || last?.role === 'tool') return says('Ready.')(response);
    asked += 1;
    if (said === 'Half.') return beginStream(response, 'Half');
    if (said === 'Tool.') {
      const isDesk = JSON.stringify(gateway.requests.at(-1)?.body.tools).includes('read_notes');
      return calls(isDesk ? ['wait', {}] : ['slow_increment', { delay_ms: 60_000 }])(response);
    }
    if (said === 'Slow.') slow.push(() => says('Slowly.')(response));
    return undefined;
  };
  const gateway = await startGateway(play);
  return {
    url: gateway.url,
    get asked() {
      return asked;
    },
    /** Answers what waits for an answer. */
    async answer() {
      await Promise.all(slow.map((play) => play()));
    },
  };
}

async function startServer(cwd: string, gatewayUrl: string) {
  const port = await freePort();
  const command = start(['scenarios', '--port', String(port), '--model', 'test-model', '--warm', '0', '--json'], {
    cwd,
    env: { PROCTOR_GATEWAY_URL: gatewayUrl },
  });
  const [line] = await command.prints(/^\{.*\}$/m);
  const { url } = JSON.parse(line) as { url: string };
  const post = (path: string, body: object = {}) =>
    send(url, path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const chat = (message: string, fields: object) =>
    post('/v1/chat/completions', { messages: [{ role: 'user', content: message }], ...fields });
  return { command, url, post, chat };
}

type Server = Awaited<ReturnType<typeof startServer>>;
type Structured = { readonly svc?: Svc; readonly error?: { readonly code: string } };

/** How a turn ended, by whichever surface: "answered", or the code of its error; "cut" for what has no end. */
async function endOf(
  surface: (typeof SURFACES)[number],
  message: string,
  session_id: string,
  server: Server,
  mcp: Caller,
) {
  const endOfTool = ({ svc, error }: Structured) => (svc === undefined ? (error?.code ?? 'cut') : 'answered');
  if (surface === 'mcp') return endOfTool(await mcp('scenario_send', { session_id, message }));
  if (surface === 'lifecycle') {
    const args = { name: 'scenario_send', arguments: { session_id, message } };
    const { json } = await server.post('/v1/lifecycle-tools/call', args);
    return endOfTool((json as { structuredContent: Structured }).structuredContent);
  }
  const stream = surface === 'streamed';
  const reply = await server.chat(message, { thread_id: session_id, stream });
  if (reply.status !== 200) return errorOf(reply)[1];
  if (!stream) return 'answered';
  const last = framesOf(reply).at(-1);
  return last === '[DONE]' ? 'answered' : (last?.error?.code ?? 'cut');
}

type Caller = (name: string, args: Record<string, unknown>) => Promise<Structured>;

async function openMcp(url: string): Promise<Caller> {
  const client = await connect(httpTransport(`${url}/mcp`));
  return async (name, args) => (await client.callTool({ name, arguments: args })).structuredContent as Structured;
}

/** Each session in a process of its own, so that there are many to be ended. */
const ALONE = { path: 'environments/counter/environment.ts', sessionsPerProcess: 1 };

describe('proctor scenarios under load', { timeout: 240_000 }, () => {
  it('ends on SIGTERM though turns hang: every turn has an answer or an error, results are kept, no process is left', async () => {
    const load = await startLoad();
    const cwd = createProject('counter');
    const harnessKey = 'harness-key-of-the-desk';
    const desk = { url: await serveHttp(createDesk, { harnessKey }), harnessKey };
    writeFileSync(
      join(cwd, 'proctor.config.mjs'),
      `export default ${JSON.stringify({ environments: { desk, counter: ALONE } })};\n`,
    );
    const server = await startServer(cwd, load.url);
    const mcp = await openMcp(server.url);

    const finished: FinishedSession[] = [];
    for (const target of [0, 1]) {
      const { session_id } = svcOf(await server.chat('Go.', counting(target)));
      finished.push(finishedOf(await server.post(`/v1/sessions/${session_id}/finish`)));
    }
    expect(finished.map(({ reward }) => reward)).toEqual([1, 0]);
    const started = await Promise.all(
      Array.from({ length: SESSIONS }, async (_none, index) => {
        const isCounting = index % (SESSIONS / IN_PROCESSES) === 0;
        const fields = isCounting ? counting(1) : { scenario: 'keep', scenario_args: { wanted: [] } };
        return svcOf(await server.chat('Hello.', fields)).session_id;
      }),
    );
    const children = environmentsOf(server.command.process.pid);
    expect(children.length).toBeGreaterThanOrEqual(IN_PROCESSES);
    const running = started.map(async (session_id, index) => {
      const surface = SURFACES[index % SURFACES.length] ?? 'plain';
      const message = MESSAGES[Math.floor(index / SURFACES.length) % MESSAGES.length] ?? 'Slow.';
      const end = await endOf(surface, message, session_id, server, mcp);
      return { surface, message, end };
    });
    await until(() => load.asked === SESSIONS);

    server.command.process.kill('SIGTERM');
    await server.command.prints(/Stopping/);
    await load.answer();
    const ended = await Promise.all(running);
    const { code, signal } = await server.command.ended;
    expect([code, signal, children.filter(isRunning)]).toEqual([0, null, []]);
    expect(ended).toEqual(
      ended.map(({ surface, message }) => ({
        surface,
        message,
        end: message === 'Slow.' ? 'answered' : 'shutting_down',
      })),
    );
    expect(new Set(ended.map(({ surface, message }) => surface + message)).size).toBe(16);

    const again = await startServer(cwd, load.url);
    const all = sessionsOf(await send(again.url, '/v1/sessions?status=all'));
    expect(all).toHaveLength(finished.length + SESSIONS);
    const statuses = new Map(all.map(({ session_id, status }) => [session_id, status]));
    expect(new Set(started.map((id) => statuses.get(id)))).toEqual(new Set(['failed']));
    for (const { session_id, trace_url: _old, ...result } of finished) {
      expect((await again.post(`/v1/sessions/${session_id}/finish`)).json).toMatchObject({ session_id, ...result });
    }
    again.command.process.kill('SIGTERM');
    expect((await again.command.ended).code).toBe(0);
  });
});
