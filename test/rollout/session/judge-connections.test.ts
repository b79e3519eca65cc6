import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { connectEnvironment } from '../../../src/environment/client/connect.ts';
import type { EnvironmentTarget } from '../../../src/environment/client/environment-client.ts';
import { EnvironmentPool } from '../../../src/environment/client/pool/environment-pool.ts';
import { hashTargetCode } from '../../../src/environment/client/pool/module-hash.ts';
import { inMemory } from '../../../src/environment/server/in-memory.ts';
import type { ChatModel, ModelRequest } from '../../../src/models/gateway/chat-model.ts';
import { executeRun } from '../../../src/rollout/session/execute-run.ts';
import type { RunOptions } from '../../../src/rollout/session/run.ts';
import { serveHttp } from '../../environment/server/clients.ts';
import { deferred } from '../../support/http/http-server.ts';
import createJudged from './environments/judged/environment.ts';
import { call, calls, type Line, listRecorder, runOptions, runRequest, says, scripted } from './fixtures.ts';

const MODULE: EnvironmentTarget = {
  kind: 'module',
  path: fileURLToPath(new URL('environments/judged/environment.ts', import.meta.url)),
};
const YES = says('{"score": true, "reason": "polite"}');
const NO = says('{"score": false, "reason": "rude"}');

async function play(
  lines: readonly Line[],
  judge: ChatModel,
  { scenario = 'polite', args = {}, ...more }: Partial<RunOptions> & { scenario?: string; args?: { name?: string } },
) {
  const recorder = listRecorder();
  const request = runRequest({ scenario_name: scenario, scenario_args: args, judge_model: 'judge' });
  const outcome = await executeRun({
    ...runOptions(undefined as never, scripted(...lines), recorder, { request }),
    createHarnessModel: () => judge,
    ...more,
  });
  return { outcome, recorder };
}

const textOf = ({ messages }: ModelRequest | { messages: [] }) => String(messages[0]?.content);

describe('the judge of a run', { timeout: 60_000 }, () => {
  it.each<[string, () => Promise<EnvironmentTarget>]>([
    ['in this process', async () => inMemory(createJudged)],
    ['in a process of its own', async () => MODULE],
    [
      'at an address',
      async () => ({
        kind: 'url',
        url: await serveHttp(createJudged, { harnessKey: 'k'.repeat(32) }),
        harnessKey: 'k'.repeat(32),
      }),
    ],
  ])('is asked by an environment %s', async (_where, toTarget) => {
    const target = await toTarget();
    const connect: RunOptions['connect'] = (options) => connectEnvironment(target, options);
    const judge = scripted(YES);
    const { outcome, recorder } = await play([says('Dear Ada.')], judge, { connect });
    expect(outcome).toMatchObject({ status: 'completed', reward: 1 });
    expect(recorder.of('judge.responded')).toMatchObject([{ material: 'Dear Ada.', score: 1 }]);
    expect(textOf(judge.requests[0] ?? { messages: [] })).toContain('SECRET RUBRIC: it is polite to Ada');
  });

  it('is that of its own session where two share a process and judge at the same time', async () => {
    const pool = new EnvironmentPool({ perEnvironment: 0, hosts: 1 });
    onTestFinished(() => pool.close());
    const codeHash = await hashTargetCode(MODULE);
    // The first session tells how many share a process.
    await (await pool.connect(MODULE, { codeHash })).close();
    const bothAsked = deferred<void>();
    const requests: string[][] = [[], []];
    const pids: (number | undefined)[] = [];
    const playSession = async (index: 0 | 1, name: string, verdict: typeof YES) => {
      const judge = scripted(async (request) => {
        requests[index]?.push(textOf(request));
        if (requests.every(({ length }) => length > 0)) bothAsked.resolve();
        await bothAsked.promise;
        return verdict;
      });
      return await play([says(`Hello ${name}.`)], judge, {
        args: { name },
        connect: async (options) => {
          const client = await pool.connect(MODULE, { ...options, codeHash });
          pids.push(client.isShared ? 1 : 0);
          return client;
        },
      });
    };
    const [one, other] = await Promise.all([playSession(0, 'Bob', YES), playSession(1, 'Cyd', NO)]);
    expect(pids).toEqual([1, 1]);
    expect([one.outcome, other.outcome]).toMatchObject([{ reward: 1 }, { reward: 0 }]);
    expect(requests).toEqual([[expect.stringContaining('to Bob')], [expect.stringContaining('to Cyd')]]);
    expect(requests[0]?.[0]).not.toContain('Cyd');
  });

  it('answers no call of the agent, be it disguised as a question of the evaluation', async () => {
    const judge = scripted(YES);
    const connect: RunOptions['connect'] = (options) => connectEnvironment(inMemory(createJudged), options);
    const lines = [calls(call('peek'), call('disguise')), says('Dear Ada.')];
    const { outcome, recorder } = await play(lines, judge, { connect });
    expect(recorder.of('tool.responded').map(({ is_error }) => is_error)).toEqual([true, true]);
    expect(outcome).toMatchObject({ reward: 1 });
    expect(judge.requests).toHaveLength(1);
  });

  it('is asked at most 100 times by the code of tools, however often an agent calls them', async () => {
    const judge: ChatModel & { asked: number } = {
      name: 'judge',
      asked: 0,
      respond: async () => {
        judge.asked += 1;
        return says('Hello');
      },
    };
    const connect: RunOptions['connect'] = (options) => connectEnvironment(inMemory(createJudged), options);
    const lines = [calls(...Array.from({ length: 3 }, () => call('ask', { times: 60 }))), says('Dear Ada.')];
    const { recorder } = await play(lines, judge, { connect, scenario: 'early' });
    expect(recorder.of('run.finished')).toMatchObject([{ status: 'failed', error: { boundary: 'setup' } }]);
    const played = await play(lines, judge, { connect });
    expect(played.recorder.of('tool.responded').map(({ is_error }) => is_error)).toEqual([false, true, true]);
    expect(played.recorder.of('sample.responded')).toHaveLength(100);
    expect(judge.asked).toBe(100 + 2);
  });

  it('is given up with an evaluation that takes too long, which has no reward', async () => {
    const judge: ChatModel = {
      name: 'judge',
      respond: ({ signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    };
    const connect: RunOptions['connect'] = (options) => connectEnvironment(inMemory(createJudged), options);
    const { outcome, recorder } = await play([says('Dear Ada.')], judge, { connect, limits: { evaluateMs: 50 } });
    expect(outcome).toMatchObject({ status: 'failed', reward: null });
    expect(outcome).toMatchObject({
      error: { boundary: 'evaluate', message: expect.stringContaining('did not end within') },
    });
    expect(recorder.events.map(({ type }) => type).slice(-2)).toEqual(['judge.failed', 'run.finished']);
  });

  it('tells of its failure in the trace once, and in the error of the run', async () => {
    const connect: RunOptions['connect'] = (options) => connectEnvironment(inMemory(createJudged), options);
    const { outcome, recorder } = await play([says('Dear Ada.')], scripted(new Error('the judge is away')), {
      connect,
    });
    const error = { boundary: 'evaluate', message: expect.stringContaining('the judge is away') };
    expect(outcome).toMatchObject({ status: 'failed', error });
    expect(recorder.of('judge.failed')).toMatchObject([{ message: 'the judge is away' }]);
    expect(recorder.of('log')).toEqual([]);
  });

  it('is not asked any longer once its evaluation is over', async () => {
    const aborted = deferred<unknown>();
    const judge: ChatModel = {
      name: 'judge',
      respond: async (request) => {
        if (!textOf(request).includes('Nobody waits')) return YES;
        return await new Promise((_resolve, reject) => {
          request.signal.addEventListener('abort', () => {
            aborted.resolve(request.signal.reason);
            reject(request.signal.reason);
          });
        });
      },
    };
    const connect: RunOptions['connect'] = (options) => connectEnvironment(inMemory(createJudged), options);
    const { outcome } = await play([says('Hello.')], judge, { connect, scenario: 'careless' });
    expect(outcome).toMatchObject({ status: 'completed', reward: 1 });
    expect(await aborted.promise).toMatchObject({ message: 'The evaluation is over' });
  });
});
