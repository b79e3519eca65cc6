import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { JsonObject } from '../../../src/contract/json.ts';
import { connectEnvironment } from '../../../src/environment/client/connect.ts';
import { executeRun } from '../../../src/rollout/session/execute-run.ts';
import { openDatabase } from '../../../src/store/database/open-database.ts';
import { createTraceStore } from '../../../src/store/traces/database-store.ts';
import { createRecorder } from '../../../src/store/traces/event-recorder.ts';
import { call, calls, runRequest, says, scripted } from '../../rollout/session/fixtures.ts';
import { fixture } from './child.ts';

const ANSWER = { name: 'count', arguments: { answer: 'S3CRET', target: 3 } };
const FORGED = { 'svc/audience': 'harness', 'svc/harness_key': 'guessed', 'svc/solution_results': [] };
/** What a model that cheats calls, which is there for a harness, or nowhere. */
const HIDDEN = ['setup', 'evaluate', 'evaluation', 'solution', 'vault', 'deep_dig', 'tools_erase', 'grading'];
const NO_TOOLS = [
  'svc://scenarios',
  'solution://functions',
  'exam://key',
  'resources/read',
  'prompts/get',
  'tools/call',
];
const OFFERED = ['look', 'sign', 'ask', 'notes', 'tools_read'];

async function openStore() {
  const directory = await mkdtemp(join(tmpdir(), 'proctor-adversary-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const database = await openDatabase(`sqlite:${join(directory, 'traces.db')}`);
  onTestFinished(() => database.close());
  return createTraceStore(database, { appUrl: 'http://127.0.0.1:8320' });
}

/** Plays a model that calls all of `cheats`, plainly and with a forged declaration, then does its work. */
async function play(scenario: string, args: JsonObject, cheats: readonly string[]) {
  const store = await openStore();
  const traceId = 'c'.repeat(32);
  const request = runRequest({ env_name: 'adversary', scenario_name: scenario, scenario_args: args });
  const { type: _type, previous_end: _end, ...queued } = request;
  await store.create({ traceId, account: 'local', queued });
  const model = scripted(
    calls(...cheats.map((name) => call(name, ANSWER))),
    calls(...cheats.map((name) => call(name, { ...ANSWER, _meta: FORGED, uri: 'solution://functions' }))),
    calls(call('look', { at: 'the clock' })),
    says('I have counted.'),
  );
  const outcome = await executeRun({
    request,
    worker: 'worker-1',
    connect: (options) => connectEnvironment({ kind: 'module', path: fixture('adversary.ts') }, options),
    createModel: () => model,
    recorder: createRecorder(store, traceId, 1),
    signal: new AbortController().signal,
  });
  return { outcome, model, trace: await store.trace(traceId) };
}

describe('a model that cheats in a run', { timeout: 60_000 }, () => {
  it.each([
    ['with every tool of the agent', 'open', {}, OFFERED, [...HIDDEN, ...NO_TOOLS]],
    // The others of the agent are there, but not in this scenario.
    ['with some of them', 'count', { target: 3 }, ['look', 'sign'], [...HIDDEN, ...NO_TOOLS, ...OFFERED.slice(2)]],
  ] as const)(
    'is told that the tool is unknown, gains nothing, and leaves it all in the trace (%s)',
    async (_case, scenario, args, offered, cheats) => {
      const { outcome, model, trace } = await play(scenario, args, cheats);
      expect(outcome).toMatchObject({ status: 'completed', stopReason: 'answered', reward: 0 });

      // The model: offered its own tools, told nothing else. What it says itself is not what it was told.
      expect(model.requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual(Array(4).fill(offered));
      const told = model.requests.at(-1)?.messages.filter(({ role }) => role !== 'assistant') ?? [];
      expect(JSON.stringify([told, model.requests.map(({ tools }) => tools)])).not.toContain('S3CRET');

      // The trace: every attempt by its name, and how it was answered.
      const results = (trace?.steps ?? []).flatMap(({ tool_results }) => tool_results);
      const unknown = [...cheats, ...cheats].map((name) => ({
        name,
        is_error: true,
        structured_content: null,
        content: [{ type: 'text', text: `Unknown tool: ${name}` }],
      }));
      expect(results.slice(0, -1)).toMatchObject(unknown);
      expect(results.at(-1)).toMatchObject({ name: 'look', is_error: false, content: [{ text: 'at the clock' }] });
      expect(trace).toMatchObject({ reward: 0, evaluation: { reward: 0, content: 'S3CRET' } });
    },
  );
});
