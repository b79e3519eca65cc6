import { randomBytes } from 'node:crypto';
import { fdatasyncSync, writeSync } from 'node:fs';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { z } from 'zod';
import type { ContentBlock, TranscriptMessage } from '../src/contract/chat.ts';
import type { EventOf } from '../src/contract/service/event.ts';
import { EnvironmentServer } from '../src/environment/authoring/environment-server.ts';
import { connectEnvironment } from '../src/environment/client/connect.ts';
import { inMemory, openInMemory } from '../src/environment/server/in-memory.ts';
import type { ChatModel } from '../src/models/gateway/chat-model.ts';
import { executeRun } from '../src/rollout/session/execute-run.ts';
import { openDatabase } from '../src/store/database/open-database.ts';
import { createTraceStore } from '../src/store/traces/database-store.ts';
import { createRecorder } from '../src/store/traces/event-recorder.ts';
import type { TraceStore } from '../src/store/traces/trace-store.ts';

const STEPS = 200;
const ROUNDS = 21;
const TARGET_MS = 1;
/** About what the events of one step take in the write-ahead log. */
const STEP_BYTES = 8_192;

/** Plays STEPS tool calls and an answer, from connecting to closing. */
type Play = () => Promise<void>;

/**
 * What the engine adds to each step of a run: `executeRun` with every event durable in SQLite, beside a loop written by
 * hand of the SDK's client and the same model. Both play the same scripted steps, one tool call each, on the same
 * in-memory server, and both connect and close. Rounds alternate; medians, over all of a run, divided by its steps.
 *
 * A step is one commit, which waits for the disk once. What that wait costs here and now is measured in the same rounds.
 */
export async function run(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'proctor-bench-'));
  const database = await openDatabase(`sqlite:${join(folder, 'traces.db')}`);
  try {
    const store = createTraceStore(database, { appUrl: 'http://127.0.0.1:8320' });
    const sides: Record<'loop' | 'engine', Play> = { loop: playByHand, engine: () => playRun(store) };
    const times: Record<'loop' | 'engine', number[]> = { loop: [], engine: [] };
    const syncs: number[] = [];
    for (let round = -2; round < ROUNDS; round++) {
      for (const name of round % 2 === 0 ? (['loop', 'engine'] as const) : (['engine', 'loop'] as const)) {
        const start = performance.now();
        await sides[name]();
        if (round >= 0) times[name].push((performance.now() - start) / STEPS); // the rounds before warm up
      }
      syncs.push(...(await timeSyncs(folder)));
    }
    print(median(times.loop), median(times.engine), median(syncs));
  } finally {
    await database.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Milliseconds of each of some writes that wait for the disk. */
async function timeSyncs(folder: string): Promise<number[]> {
  const file = await open(join(folder, 'sync'), 'w');
  try {
    return Array.from({ length: 20 }, () => {
      const start = performance.now();
      writeSync(file.fd, Buffer.alloc(STEP_BYTES));
      fdatasyncSync(file.fd);
      return performance.now() - start;
    });
  } finally {
    await file.close();
  }
}

function print(loop: number, engine: number, sync: number): void {
  const difference = engine - loop;
  console.log(`Engine overhead per step, ${STEPS} steps of one tool call, medians of ${ROUNDS} alternating rounds`);
  console.log('                                   |  ms per step');
  console.log(`hand-written loop, nothing kept    | ${loop.toFixed(3).padStart(12)}`);
  console.log(`executeRun, every event durable    | ${engine.toFixed(3).padStart(12)}`);
  console.log(`difference                         | ${difference.toFixed(3).padStart(12)}`);
  console.log(`one fdatasync of ${STEP_BYTES / 1_024} KB here           | ${sync.toFixed(3).padStart(12)}`);
  console.log(`target: at most ${TARGET_MS} ms above: ${difference <= TARGET_MS ? 'met' : 'NOT met'}`);
}

async function playRun(store: TraceStore): Promise<void> {
  const traceId = randomBytes(16).toString('hex');
  const { type: _type, previous_end: _end, ...queued } = REQUEST;
  await store.create({ traceId, account: 'local', queued });
  const outcome = await executeRun({
    request: REQUEST,
    worker: 'bench',
    connect: (options) => connectEnvironment(inMemory(counter), options),
    createModel: scriptedModel,
    recorder: createRecorder(store, traceId, 1),
    signal: new AbortController().signal,
  });
  if (outcome.status !== 'completed' || outcome.reward !== 1) {
    throw new Error(`The run did not go as it should: ${JSON.stringify(outcome)}`);
  }
}

async function playByHand(): Promise<void> {
  const model = scriptedModel();
  const environment = openInMemory(counter);
  const client = new Client({ name: 'loop', version: '0.0.0' });
  await client.connect(environment.clientTransport);
  const { tools: listed } = await client.listTools();
  const tools = listed.map((tool) => ({
    name: tool.name,
    description: tool.description ?? '',
    input_schema: tool.inputSchema,
  }));
  const messages: TranscriptMessage[] = [{ role: 'user', content: `Count to ${STEPS}.` }];
  const { signal } = new AbortController();
  let count = 0;
  for (;;) {
    const { message } = await model.respond({ messages, tools, sampling: {}, signal });
    messages.push(message);
    if (message.tool_calls.length === 0) break;
    for (const { id, name, arguments: args } of message.tool_calls) {
      const { content, isError } = await client.callTool({ name, arguments: args });
      messages.push({
        role: 'tool',
        tool_call_id: id,
        name,
        content: content as ContentBlock[],
        is_error: isError === true,
      });
      count++;
    }
  }
  await client.close();
  await environment.close();
  if (count !== STEPS) throw new Error(`The loop made ${count} calls, not ${STEPS}`);
}

function counter(): EnvironmentServer {
  let count = 0;
  const environment = new EnvironmentServer({ name: 'counter', version: '1.0.0' });
  environment.tool('increment', { args: { by: z.int().default(1) } }, ({ by }) => {
    count += by;
    return count;
  });
  environment.scenario('count_to', { args: { target: z.int().min(0) } }, async function* ({ target }) {
    yield `Count to ${target}.`;
    return count === target ? 1 : 0;
  });
  return environment;
}

/** Calls the tool once in each step, then answers; it takes no time of its own. */
function scriptedModel(): ChatModel {
  let step = 0;
  const usage = {
    prompt_tokens: 100,
    completion_tokens: 10,
    total_tokens: 110,
    cached_tokens: 0,
    reasoning_tokens: 0,
    cost_usd: null,
  };
  return {
    name: 'scripted',
    async respond() {
      step++;
      const isDone = step > STEPS;
      const call = { id: `call_${step}`, name: 'increment', arguments: { by: 1 }, raw_arguments: null };
      return {
        message: {
          role: 'assistant',
          content: isDone ? 'Done.' : null,
          reasoning: null,
          tool_calls: isDone ? [] : [call],
        },
        finishReason: isDone ? 'stop' : 'tool_calls',
        usage,
        retries: 0,
        tokenIds: null,
        logprobs: null,
      };
    },
  };
}

const REQUEST: EventOf<'run.queued'> = {
  type: 'run.queued',
  origin: 'run',
  env_name: 'counter',
  scenario_name: 'count_to',
  scenario_args: { target: STEPS },
  model: 'scripted',
  max_steps: STEPS + 1,
  timeout_seconds: 3_600,
  seed: null,
  sampling: {},
  metadata: {},
  priority: 0,
  previous_end: null,
};

function median(numbers: readonly number[]): number {
  return [...numbers].sort((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? Number.NaN;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await run();
