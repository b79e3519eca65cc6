import { EnvironmentServer } from 'proctor';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { SimulatedUser, UserFunction } from '../../src/environment/user.ts';
import { inMemory } from '../../src/mcp/in-memory.ts';
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
}

/** A counter of wishes that a user tells: its state is graded, and the talk where that is asked for. */
function createCounter({ user, scripts, isJudged = false, judgeModel, isIdlePaid = false }: Parts): EnvironmentServer {
  const env = new EnvironmentServer({ name: 'wishes', sessionsPerProcess: 10 });
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
    async function* ({ wanted }, { conversation, judge }) {
      count = 0;
      yield [];
      const isGranted = count === wanted || isIdlePaid ? 1 : 0;
      const info = { count, talk: conversation.map(({ role }) => role) };
      if (!isJudged) return { reward: isGranted, info };
      const { score } = await judge({
        rubric: 'Was it kind?',
        material: conversation,
        ...(judgeModel !== undefined && { model: judgeModel }),
      });
      return { reward: isGranted * score, info };
    },
  );
  return env;
}

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

  it('plays no user where nothing plays it without a model', async () => {
    expect(await remarksOf({ user: LIVELY, scripts: {} })).toEqual([]);
  });

  it('has the judge give the verdicts of its task', async () => {
    expect(await remarksOf({ user: LIVELY, scripts: { ...SAYS, judge_script: [true] }, isJudged: true })).toEqual([]);
  });

  it('asks no model that an evaluation names, and takes no agent for it', async () => {
    const remarks = await remarksOf({ user: LIVELY, scripts: SAYS, isJudged: true, judgeModel: 'some/judge' });
    expect(remarks).toMatchObject([{ finding: 'solvable', level: 'warning' }]);
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

  it('warns once where an evaluation needs a judge and its tasks have no verdicts, and accuses it of nothing', async () => {
    expect(await remarksOf({ user: LIVELY, scripts: SAYS, isJudged: true })).toMatchObject([
      { finding: 'solvable', level: 'warning', message: expect.stringContaining('judge_script') },
    ]);
  });
});
