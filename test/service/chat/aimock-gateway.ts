import { existsSync } from 'node:fs';
import { onTestFinished, vi } from 'vitest';
import type { Trace } from '../../../src/contract/service/trace.ts';
import type { FinishedSession } from '../../../src/contract/session.ts';
import type { EnvironmentTarget } from '../../../src/environment/client/environment-client.ts';
import { inMemory } from '../../../src/environment/server/in-memory.ts';
import { createModels } from '../../../src/models/gateway/create-model.ts';
import { fakeTiming } from '../../gateway.ts';
import type { Reply } from '../../support/http/http-server.ts';
import createWorkbench from './fixtures/workbench.ts';
import { COUNTER, completionOf, finishedOf, framesOf, serve, type TestServer } from './server.ts';

const REFEREES = new URL('../../referees/node_modules/', import.meta.url);
const PROGRAM = new URL('@copilotkit/aimock/dist/index.js', REFEREES);

if (!existsSync(PROGRAM)) {
  throw new Error('Not skipped: aimock, a gateway of others, is not installed. Install it with "npm run referees".');
}

/** How aimock answers one request, in its own words. */
export interface AimockReply {
  /** `content`, `toolCalls`, `blocks`, `reasoning`, `finishReason`, `usage`; or `error` with `status` and `retryAfter`. */
  readonly response?: Readonly<Record<string, unknown>>;
  /** Which request it is for. Default: the one that comes at its place in the list. */
  readonly match?: Readonly<Record<string, unknown>>;
  /** Of text and of arguments, in UTF-16 code units. Default 4, so that both come in pieces. */
  readonly chunkSize?: number;
  /** Cuts the connection after so many chunks, the one with the role among them. */
  readonly truncateAfterChunks?: number;
  /** What goes wrong, each 0 to 1, and `latencyMs`, how late it answers. */
  readonly chaos?: Readonly<Record<string, number>>;
  /** Closes the connection after so long, also while a chunk is waited for. */
  readonly disconnectAfterMs?: number;
  readonly recordedTimings?: object;
  readonly openRouterProcessing?: boolean;
}

export interface Message {
  readonly role: string;
  readonly content: unknown;
  readonly tool_call_id?: string;
  readonly tool_calls?: readonly { readonly id: string; readonly function: { readonly arguments: string } }[];
}

/** A request as aimock has read it. */
export interface AskedBody {
  readonly model: string;
  readonly messages: readonly Message[];
  readonly [field: string]: unknown;
}

export interface AimockServer extends TestServer {
  /** What aimock was asked, in the order of asking. */
  asked(): readonly AskedBody[];
  /** How long each retry was waited for. */
  readonly sleptMs: readonly number[];
  traceOf(reply: Reply): Promise<Trace>;
  /** Ends the session of a reply. */
  finish(reply: Reply): Promise<FinishedSession>;
  /** What was done in the workbench, in order: ends its session. */
  logOf(reply: Reply): Promise<unknown>;
}

export interface AimockOptions {
  /** Under `/api/v1` it behaves as OpenRouter does. Default `/v1`. */
  readonly path?: '/v1' | '/api/v1';
  /** The key that it asks for, and the one that it is shown. */
  readonly keys?: { readonly asked: string; readonly shown: string };
  /** How long it may send nothing, in milliseconds. */
  readonly idleTimeoutMs?: number;
}

/** A scenario server whose gateway is aimock, both over real sockets, until the test ends. */
export async function serveByAimock(
  replies: readonly AimockReply[],
  { path = '/v1', keys, idleTimeoutMs }: AimockOptions = {},
): Promise<AimockServer> {
  const { LLMock }: AimockProgram = await import(PROGRAM.href);
  const aimock = new LLMock({ chunkSize: 4, ...(keys === undefined ? {} : { auth: { apiKeys: [keys.asked] } }) });
  for (const [sequenceIndex, { match = { endpoint: 'chat', sequenceIndex }, response, ...rest }] of replies.entries()) {
    aimock.on(match, response ?? { content: 'Never said.' }, rest);
  }
  const url = await aimock.start();
  onTestFinished(() => aimock.stop());
  const timing = fakeTiming();
  const server = await serve({
    environments: new Map<string, EnvironmentTarget>([
      ['counter', COUNTER],
      ['workbench', inMemory(createWorkbench)],
    ]),
    models: createModels({ gatewayUrl: `${url}${path}`, gatewayApiKey: keys?.shown, idleTimeoutMs, timing }),
  });
  const finish = async ({ headers }: Reply) =>
    finishedOf(await server.post(`/v1/sessions/${headers['x-svc-session-id']}/finish`));
  return {
    ...server,
    finish,
    logOf: async (reply) => (await finish(reply)).evaluation.info.log,
    sleptMs: timing.sleptMs,
    asked: () => aimock.getRequests().flatMap(({ body }) => (body === null ? [] : [withoutNotes(body)])),
    traceOf: async ({ headers }) => {
      const trace = await server.store.trace(String(headers['x-svc-trace-id']));
      if (trace === undefined) throw new Error('There is no trace');
      return trace;
    },
  };
}

/** A reply with calls of tools: name, arguments, and the id where aimock shall not make one. */
export function calls(
  ...made: readonly (readonly [name: string, args: object, id?: string])[]
): AimockReply & { readonly response: object } {
  return {
    response: {
      toolCalls: made.map(([name, args, id]) => ({ name, arguments: args, ...(id === undefined ? {} : { id }) })),
    },
  };
}

export function says(content: string, more: object = {}): AimockReply {
  return { response: { content, ...more } };
}

export function failsWith(status: number, message: string, more: object = {}): AimockReply {
  return { response: { status, error: { message, ...more } } };
}

/** What starts a session with the workbench. */
export const WORK = { scenario: 'work', scenario_args: {} } as const;
export const STREAMED = { stream: true } as const;

export const saidBy = (reply: Reply): string => completionOf(reply).choices[0].message.content;

/** The pieces of a streamed text, or of another field of its deltas. */
export function piecesOf(reply: Reply, field = 'content'): readonly string[] {
  const choices = framesOf(reply).flatMap((frame) => (frame === '[DONE]' ? [] : (frame.choices ?? [])));
  return choices.flatMap(({ delta }) => String(Reflect.get(delta, field) ?? '') || []);
}

/** A number that no other timer has. */
const HELD_MS = 77_777;

/**
 * Timings of a reply whose first chunks come at once (the one with the role is the first), and each later one when the
 * test lets it go, however slow the machine is.
 */
export function heldTimings({ after }: { readonly after: number }): {
  readonly recordedTimings: object;
  letGo(): void;
} {
  const held: (() => void)[] = [];
  const armTimer = globalThis.setTimeout;
  const holdTimer = (run: () => void, milliseconds?: number, ...args: unknown[]) =>
    milliseconds === HELD_MS ? held.push(run) : armTimer(run, milliseconds, ...args);
  const spy = vi.spyOn(globalThis, 'setTimeout').mockImplementation(holdTimer as unknown as typeof setTimeout);
  onTestFinished(() => spy.mockRestore());
  return {
    recordedTimings: {
      ttftMs: 0,
      interChunkDelaysMs: [...Array(after - 1).fill(0), ...Array(20).fill(HELD_MS)],
      totalDurationMs: 0,
    },
    letGo: () => {
      const run = held.shift();
      if (run === undefined) throw new Error('Nothing is held');
      run();
    },
  };
}

/** As much of aimock as these tests use: its own types are there only where it is installed. */
interface AimockProgram {
  readonly LLMock: new (options: object) => Aimock;
}

interface Aimock {
  on(match: object, response: object, options: object): void;
  start(): Promise<string>;
  stop(): Promise<void>;
  getRequests(): readonly { readonly body: AskedBody | null }[];
}

/** Without what aimock notes down in it. */
function withoutNotes(body: AskedBody): AskedBody {
  return Object.fromEntries(Object.entries(body).filter(([name]) => !name.startsWith('_'))) as AskedBody;
}
