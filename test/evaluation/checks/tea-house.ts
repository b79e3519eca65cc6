import { EnvironmentServer, Hub } from 'proctor';
import { z } from 'zod';
import type { SimulatedUser, UserFunction } from '../../../src/environment/authoring/user.ts';
import { inMemory } from '../../../src/environment/server/in-memory.ts';
import { createModels } from '../../../src/models/gateway/create-model.ts';
import type { HarnessModels } from '../../../src/models/gateway/model-config.ts';
import { calls, fakeTiming, says, startGateway } from '../../gateway.ts';
import { startService, type TestService } from '../../service/runs/service.ts';

type Line = string | { readonly tool: string; readonly args?: object };

/** A house whose guest a model or code plays, and whose evaluation asks a judge. */
export interface House {
  prompt: string | [];
  user: SimulatedUser | UserFunction;
  rubric: string;
  votes: number;
  /** Of the answer, where it has one. */
  answer?: z.ZodType;
  /** What the reward is made of, beside the judge's score: cups that were poured and paid. */
  reward: (seen: { readonly poured: number; readonly paid: number }, score: number) => number;
  /** The lines of each model, of all runs; the last one stays. */
  readonly lines: Record<string, Line[]>;
  /** Models that were asked, in order. */
  readonly asked: string[];
  /** Of each request, the texts of its messages. */
  readonly sent: string[][];
}

export function createHouse(change: Partial<House> = {}): House {
  return {
    prompt: 'Good day.',
    user: { instructions: 'You want two cups, and pay for each.', tools: ['pay'] },
    rubric: 'It is polite.',
    votes: 2,
    reward: ({ poured, paid }, score) => (poured === paid ? score : 0),
    lines: {},
    asked: [],
    sent: [],
    ...change,
  };
}

function createEnvironment(house: House) {
  return inMemory(() => {
    const env = new EnvironmentServer({ name: 'house', version: '1.0.0', sessionsPerProcess: 1_000 });
    const seen = { poured: 0, paid: 0 };
    env.tool('pour', { description: 'Pours a cup.' }, () => {
      seen.poured += 1;
      return `${seen.poured} poured, ${seen.paid} paid`;
    });
    const wallet = new Hub('wallet', { audience: 'user' }).tool('pay', {}, () => {
      seen.paid += 1;
      return `${seen.paid} paid`;
    });
    env.mount(wallet);
    env.scenario(
      'serve',
      {
        args: z.object({ user_script: z.array(z.string()).optional() }),
        user: house.user,
        ...(house.answer === undefined ? {} : { answer: house.answer }),
      },
      async function* (_args, { judge, conversation }) {
        yield house.prompt;
        const { score } = await judge({ rubric: house.rubric, material: conversation, votes: house.votes });
        return { reward: house.reward(seen, score), info: seen };
      },
    );
    return env;
  });
}

export interface HouseService extends TestService {
  readonly house: House;
  post(path: string, body?: object): ReturnType<TestService['request']>;
  /** The trace of a request that begins a run, once that has ended. */
  begun(path: string, body?: object): ReturnType<TestService['ended']>;
}

/** A run service with a house, and a gateway that says the next line of the model that is asked. */
export async function startHouse(
  house: House,
  { harness = { user: 'guest', judge: 'critic' }, parts }: { harness?: HarnessModels; parts?: TestService } = {},
): Promise<HouseService> {
  const gateway = await startGateway(async (response, request) => {
    const { model, messages } = request.body as { model: string; messages: object[] };
    const nth = house.asked.filter((each) => each === model).length;
    house.asked.push(model);
    house.sent.push(messages.map((message) => String((message as { content?: unknown }).content)));
    const lines = house.lines[model] ?? [''];
    const line = lines[Math.min(nth, lines.length - 1)] ?? '';
    const play = typeof line === 'string' ? says(line) : calls([line.tool, line.args ?? {}]);
    await play(response);
  });
  const service = await startService({
    environments: new Map([['house', createEnvironment(house)]]),
    models: createModels({ gatewayUrl: gateway.url, timing: fakeTiming(), harness }),
    ...(parts === undefined ? {} : { parts }),
  });
  const post: HouseService['post'] = (path, body = {}) =>
    service.request(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  return {
    ...service,
    house,
    post,
    async begun(path, body) {
      const reply = await post(path, body);
      const { trace_id } = reply.json as { trace_id?: string };
      if (trace_id === undefined) throw new Error(reply.text);
      return await service.ended(trace_id);
    },
  };
}

export const SERVE = { env_name: 'house', scenario_name: 'serve', model: 'waiter' } as const;
