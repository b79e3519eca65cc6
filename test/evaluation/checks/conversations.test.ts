import { EnvironmentServer, Hub } from 'proctor';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { SimulatedUser, UserFunction } from '../../../src/environment/authoring/user.ts';
import { inMemory } from '../../../src/environment/server/in-memory.ts';
import { check } from './check.ts';

const PATIENCE = { timeout: 120_000 } as const;

interface Parts {
  readonly user: SimulatedUser | UserFunction;
  readonly scripts: { readonly user_script?: string[]; readonly judge_script?: boolean[] };
  /** True: the talk is judged, and no verdict is no reward. Default false. */
  readonly isJudged?: boolean;
  /** The model that the evaluation asks. Default: that of the harness. */
  readonly judgeModel?: string;
  /** Default false. */
  readonly isIdlePaid?: boolean;
  /** The judge is asked, and what it says is of no account. Default false. */
  readonly isVerdictIgnored?: boolean;
  /** The evaluation asks a model by itself. Default false. */
  readonly isSampling?: boolean;
  /** Told of each text of a conversation. */
  readonly onTalk?: (text: string) => void;
}

/** A counter of wishes that a user tells: its state is graded, and the talk where that is asked for. */
function createCounter(parts: Parts): EnvironmentServer {
  const { user, scripts, isJudged = false, judgeModel, isIdlePaid = false, isSampling = false, onTalk } = parts;
  const env = new EnvironmentServer({ name: 'wishes', sessionsPerProcess: 10 });
  env.mount(new Hub('wallet', { audience: 'user' }).tool('pay', { description: 'Pays.' }, () => 'It is paid.'));
  let count = 0;
  const counting = {
    description: 'Grants wishes.',
    args: { count: z.int().min(1).max(1_000_000).describe('How many.') },
  };
  env.tool('grant', counting, (given) => {
    count += given.count;
    return count;
  });
  env.scenario(
    'grant',
    {
      description: 'Grant the wishes of somebody.',
      args: {
        wanted: z.int().min(1).max(1_000_000).describe('How many.'),
        user_script: z.array(z.string()).optional().describe('Lines of the user.'),
        judge_script: z.array(z.boolean()).optional().describe('Verdicts.'),
      },
      user,
      tasks: [
        { id: 'some', args: { wanted: 40_411, ...scripts } },
        { id: 'many', args: { wanted: 90_902, ...scripts } },
      ],
      solution: ({ wanted }) => ({ calls: [{ name: 'grant', arguments: { count: wanted } }], answer: 'It is done.' }),
    },
    async function* ({ wanted }, { conversation, judge, sample }) {
      count = 0;
      yield [];
      for (const { role, content } of conversation) onTalk?.(`${role}: ${content}`);
      if (isSampling) await sample({ messages: [{ role: 'user', content: 'Was it kind?' }], maxTokens: 10 });
      const isGranted = count === wanted || isIdlePaid ? 1 : 0;
      const info = { count, talk: conversation.map(({ role }) => role) };
      if (!isJudged) return { reward: isGranted, info };
      const { score } = await judge({
        rubric: 'Was it kind?',
        material: conversation,
        ...(judgeModel !== undefined && { model: judgeModel }),
      });
      return { reward: parts.isVerdictIgnored === true ? isGranted : isGranted * score, info };
    },
  );
  return env;
}

const SAMPLES = { user: { instructions: 'You have wishes.' }, isSampling: true } as const;
const SAYS = { user_script: ['I have wishes.', 'All of them, please.'] };
const LIVELY: SimulatedUser = { instructions: 'You have wishes.', model: 'some/model' };

const remarksOf = async (parts: Parts) => {
  const { findings } = await check(inMemory(() => createCounter(parts)));
  return findings.filter(({ level }) => level !== 'note');
};

describe('a check of a scenario with a simulated user', PATIENCE, () => {
  it('has the user say the lines of its task, whatever model the scenario names', async () => {
    expect(await remarksOf({ user: LIVELY, scripts: SAYS })).toEqual([]);
  });

  it('has a user that is code reply', async () => {
    const replies: number[] = [];
    const user: UserFunction = (conversation) => {
      replies.push(conversation.length);
      return conversation.length < 3 ? 'I have wishes.' : null;
    };
    expect(await remarksOf({ user, scripts: {} })).toEqual([]);
    expect(replies).toContain(2);
  });

  it('has a fixed user stand in for a model where the task has no lines', async () => {
    const talks: string[] = [];
    expect(await remarksOf({ user: LIVELY, scripts: {}, onTalk: (talk) => void talks.push(talk) })).toEqual([]);
    expect(talks).toContain('user: Please go on.');
  });

  it('says that nothing was tried with a user that calls functions, which only a model can play', async () => {
    const user: SimulatedUser = { ...LIVELY, tools: ['pay'] };
    const { tried, findings } = await check(inMemory(() => createCounter({ user, scripts: {} })));
    expect(tried).toContainEqual({ finding: 'random', state: 'partly_tried' });
    const { message } = findings.find(({ finding }) => finding === 'random') ?? {};
    expect(message).toBe('Not tried to the end with many, some: its user has functions, which only a model calls.');
  });

  it('has the judge give the verdicts of its task', async () => {
    expect(await remarksOf({ user: LIVELY, scripts: { ...SAYS, judge_script: [true] }, isJudged: true })).toEqual([]);
  });

  it('asks no model that an evaluation names: a fixed judge says yes to the solution', async () => {
    expect(await remarksOf({ user: LIVELY, scripts: SAYS, isJudged: true, judgeModel: 'some/judge' })).toEqual([]);
  });

  it('says that nothing was tried where the evaluation asks a model that is no judge', async () => {
    const { findings, tried } = await check(inMemory(() => createCounter({ ...SAMPLES, scripts: SAYS })));
    expect(findings.find(({ level }) => level !== 'note')).toMatchObject({ finding: 'solvable', level: 'warning' });
    const states = Object.fromEntries(tried.map(({ finding, state }) => [finding, state]));
    const gaps = ['idle', 'random', 'echo', 'leak', 'deterministic', 'isolated', 'order', 'clean', 'grader_strength'];
    expect(gaps.map((finding) => [finding, states[finding]])).toEqual(gaps.map((finding) => [finding, 'not_tried']));
    // The second task of the scenario is left out.
    expect(states).toMatchObject({ start: 'partly_tried', solvable: 'found', described: 'tried' });
  });

  it('names the user and the judge in the command that shows a finding again', async () => {
    const scripts = { ...SAYS, judge_script: [true] };
    const { findings } = await check(inMemory(() => createCounter({ user: LIVELY, scripts, isIdlePaid: true })));
    const { reproduce } = findings.find(({ finding }) => finding === 'idle') ?? {};
    const roles = '--user-model proctor/user-script --judge-model proctor/judge-script';
    expect(reproduce).toContain(`--model proctor/noop ${roles} --seed 0`);
    const { findings: others } = await check(
      inMemory(() => createCounter({ user: LIVELY, scripts: {}, isIdlePaid: true })),
    );
    expect(others.find(({ finding }) => finding === 'idle')?.reproduce).toMatch(
      /^proctor check tried --scenario grant --task \w+ --seed 0/,
    );
  });

  it('finds a reward that the verdict of the judge does not change, without a script of verdicts', async () => {
    const parts = { user: LIVELY, scripts: SAYS, isJudged: true, isIdlePaid: true };
    const { findings, tried } = await check(inMemory(() => createCounter({ ...parts, isVerdictIgnored: true })));
    expect(findings[0]).toMatchObject({ finding: 'idle', level: 'error' });
    expect(tried).toContainEqual({ finding: 'echo', state: 'not_tried' });
  });

  it('says that nothing was tried where the judge alone decides, and accuses no agent', async () => {
    const parts = { user: LIVELY, scripts: SAYS, isJudged: true, isIdlePaid: true };
    const { findings, tried } = await check(inMemory(() => createCounter(parts)));
    expect(findings.filter(({ level }) => level !== 'note')).toEqual([]);
    expect(tried).toContainEqual({ finding: 'idle', state: 'partly_tried' });
    const { message } = findings.find(({ finding }) => finding === 'idle') ?? {};
    expect(message).toContain('only a judge decides, and a check has none: list verdicts in judge_script');
  });
});
