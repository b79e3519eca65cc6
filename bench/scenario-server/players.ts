import { setTimeout as delay } from 'node:timers/promises';
import type { GatewayClient } from '../../src/models/gateway/gateway-client.ts';

/** How one turn of a session is asked for. */
export const SURFACES = ['plain', 'streamed', 'lifecycle'] as const;
export type Surface = (typeof SURFACES)[number];

/** A request with a JSON body to the scenario server. */
export type Post = (path: string, body: object) => Promise<{ readonly status: number; readonly text: string }>;

/** The answer of a turn, whatever it came by. */
export interface TurnReply {
  readonly sessionId: string;
  readonly traceId: string;
  readonly answer: string;
}

/**
 * A model for any number of sessions with `counter`: told "Add 3." it calls the tool, and then says "At 3.", of which the
 * number is the tool's. So an answer tells which session its turn ran in, and how often.
 */
export function createCountingClient(latencyMs = 0): GatewayClient {
  let calls = 0;
  return {
    chat: {
      completions: {
        async create(body) {
          const { messages } = body as { messages: readonly { role: string; content: string }[] };
          const last = messages.at(-1);
          calls += 1;
          if (latencyMs > 0) await delay(latencyMs);
          return last?.role === 'tool' ? say(`At ${last.content}.`) : react(last?.content ?? '', `call_${calls}`);
        },
      },
    },
  };
}

/** @throws Error for an answer that is none, with what came. */
export async function playTurnBy(
  post: Post,
  surface: Surface,
  message: string,
  at: { readonly sessionId: string } | { readonly scenario: string; readonly scenario_args: object },
): Promise<TurnReply> {
  if (surface === 'lifecycle') return await callTool(post, message, at);
  const fields = 'sessionId' in at ? { thread_id: at.sessionId } : at;
  const stream = surface === 'streamed';
  const { status, text } = await post('/v1/chat/completions', {
    messages: [{ role: 'user', content: message }],
    ...fields,
    stream,
  });
  if (status !== 200) throw new Error(`A ${surface} turn was answered ${status}: ${text}`);
  return stream ? readStream(text) : toReply(JSON.parse(text));
}

export interface SessionPlan {
  /** Starts the surfaces at another one for each session. */
  readonly number: number;
  readonly turns: number;
}

export interface PlayedSession extends TurnReply {
  readonly reward: number;
  readonly turnMs: readonly number[];
}

/** What a session is to be asked for, and its reward: every fifth has a target that it does not reach. */
export function toTask({ number, turns }: SessionPlan): { by: number; target: number; reward: number } {
  const by = (number % 97) + 1;
  const isMissed = number % 5 === 0;
  return { by, target: by * turns + (isMissed ? 1 : 0), reward: isMissed ? 0 : 1 };
}

/**
 * Plays a session of `count_to` to its end, each turn by another surface. @throws Error for any answer or reward but its
 * own.
 */
export async function playSession(post: Post, plan: SessionPlan): Promise<PlayedSession> {
  const { by, target, reward } = toTask(plan);
  const turnMs: number[] = [];
  let reply: TurnReply | undefined;
  for (let turn = 1; turn <= plan.turns; turn += 1) {
    const surface = SURFACES[(plan.number + turn) % SURFACES.length] ?? 'plain';
    const at = reply ?? { scenario: 'count_to', scenario_args: { target } };
    const startedAt = performance.now();
    const next = await playTurnBy(post, surface, `Add ${by}.`, at);
    turnMs.push(performance.now() - startedAt);
    if (next.answer !== `At ${by * turn}.`) {
      throw new Error(`Turn ${turn} of session ${plan.number} was answered ${next.answer}, not At ${by * turn}.`);
    }
    if (reply !== undefined && reply.sessionId !== next.sessionId) throw new Error('The session was another one');
    reply = next;
  }
  if (reply === undefined) throw new Error('A session takes one turn at least');
  const { status, text } = await post(`/v1/sessions/${reply.sessionId}/finish`, {});
  const finished = status === 200 ? JSON.parse(text) : {};
  if (finished.reward !== reward) {
    throw new Error(`Session ${plan.number} ended with ${status}: ${text}, not with the reward ${reward}`);
  }
  return { ...reply, reward, turnMs };
}

interface Svc {
  readonly session_id: string;
  readonly trace_id: string;
}

/** @throws Error for a stream that is cut, or has an error. */
function readStream(text: string): TurnReply {
  const frames = text.split('\n\n').filter((frame) => frame.startsWith('data: '));
  const last = frames.pop();
  if (last !== 'data: [DONE]') throw new Error(`A stream ended with ${last}`);
  const chunks = frames.map((frame) => JSON.parse(frame.slice('data: '.length)));
  const answer = chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('');
  const finished = chunks.filter(({ choices }) => choices[0]?.finish_reason === 'stop');
  if (finished.length !== 1) throw new Error(`A stream has ${finished.length} chunks with a finish_reason`);
  return toReply({ choices: [{ message: { content: answer } }], svc: finished[0].svc });
}

async function callTool(
  post: Post,
  message: string,
  at: { readonly sessionId: string } | { readonly scenario: string; readonly scenario_args: object },
): Promise<TurnReply> {
  const isStart = !('sessionId' in at);
  const { status, text } = await post('/v1/lifecycle-tools/call', {
    name: isStart ? 'scenario_start' : 'scenario_send',
    arguments: { message, ...(isStart ? at : { session_id: at.sessionId }) },
  });
  const result = status === 200 ? JSON.parse(text) : { isError: true };
  if (result.isError) throw new Error(`A lifecycle tool was answered ${status}: ${text}`);
  const { answer, svc } = result.structuredContent;
  return toReply({ choices: [{ message: { content: answer } }], svc });
}

function toReply(body: { choices: readonly { message: { content: string } }[]; svc: Svc }): TurnReply {
  const { session_id, trace_id } = body.svc;
  return { sessionId: session_id, traceId: trace_id, answer: body.choices[0]?.message.content ?? '' };
}

/** "Add 3." counts, "Slow 300." counts after so many milliseconds, "Wait." calls the tool that does not end. */
function react(text: string, id: string): AsyncIterable<object> {
  const [, word, number] = /^(Add|Slow|Wait)(?: (\d+))?\.$/.exec(text) ?? [];
  if (word === 'Add') return call(id, 'increment', { by: Number(number) });
  if (word === 'Slow') return call(id, 'slow_increment', { delay_ms: Number(number) });
  return word === 'Wait' ? call(id, 'wait', {}) : say('Ready.');
}

async function* say(text: string): AsyncGenerator<object> {
  yield toChunk({ role: 'assistant', content: '' });
  for (const piece of text.match(/\S+\s*/g) ?? []) {
    await nextTurn();
    yield toChunk({ content: piece });
  }
  yield toChunk({}, 'stop');
}

async function* call(id: string, name: string, args: object): AsyncGenerator<object> {
  await nextTurn();
  const tool_calls = [{ index: 0, id, type: 'function', function: { name, arguments: JSON.stringify(args) } }];
  yield toChunk({ role: 'assistant', content: null, tool_calls });
  yield toChunk({}, 'tool_calls');
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function toChunk(delta: object, finish_reason: string | null = null): object {
  return {
    id: 'chatcmpl',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'counting',
    choices: [{ index: 0, delta, finish_reason }],
  };
}
