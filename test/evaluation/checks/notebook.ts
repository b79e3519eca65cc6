import { EnvironmentServer, image, ToolError } from 'proctor';
import { z } from 'zod';
import type { EnvironmentTarget } from '../../../src/environment/client/environment-client.ts';
import { inMemory } from '../../../src/environment/server/in-memory.ts';
import { createModels } from '../../../src/models/gateway/create-model.ts';
import type { RunServiceOptions } from '../../../src/service/runs/start.ts';
import { fakeTiming, type Play, startGateway } from '../../gateway.ts';
import { startService, type TestService } from '../../service/runs/service.ts';

/** The code of an environment, as its author changes it from one day to the next. */
export interface NotebookCode {
  greeting: string;
  /** What `note` says of a text. */
  noted: (text: string, count: number) => string;
  reward: (notes: readonly string[], answer: unknown) => number;
  extraTool: boolean;
  /** Throws it in setup. */
  setupFault: string | undefined;
  evaluateFault: string | undefined;
  pixels: number;
  sessions: number;
  /** Seeds that setup was given. */
  readonly seeds: number[];
  /** Calls of tools, of all sessions. */
  readonly calls: string[];
}

export function createCode(change: Partial<NotebookCode> = {}): NotebookCode {
  return {
    greeting: 'Write notes.',
    noted: (text, count) => `${count}: ${text}`,
    reward: (notes, answer) => (notes.join(' ') === answer ? 1 : 0),
    extraTool: false,
    setupFault: undefined,
    evaluateFault: undefined,
    pixels: 1,
    sessions: 0,
    seeds: [],
    calls: [],
    ...change,
  };
}

/** An environment of notes, whose volatile parts differ in each session. */
export function createNotebook(code: NotebookCode): EnvironmentTarget {
  return inMemory(() => {
    code.sessions += 1;
    const session = code.sessions;
    const notes: string[] = [];
    const env = new EnvironmentServer({ name: 'notebook', version: '1.0.0', sessionsPerProcess: 1_000 });
    const called = (name: string) => void code.calls.push(name);
    env.tool('note', { description: 'Writes a note.', args: z.object({ text: z.string() }) }, ({ text }) => {
      called('note');
      notes.push(text);
      return code.noted(text, notes.length);
    });
    env.tool('draw', { description: 'Draws a number.' }, (_args, { seed }) => {
      called('draw');
      return (seed * 7_919 + notes.length) % 1_000;
    });
    env.tool('clock', { description: 'Tells the session.' }, () => `It is ${session} o'clock.`);
    env.tool('stamp', { description: 'Stamps.', returns: z.object({ id: z.int(), notes: z.int() }) }, () => ({
      id: session,
      notes: notes.length,
    }));
    env.tool('tear', { description: 'Fails.' }, () => {
      throw new ToolError('The paper does not tear.');
    });
    env.tool('picture', { description: 'Gives a picture.' }, () =>
      image(Buffer.alloc(40_000, `${code.pixels}${notes.length}`), 'image/png'),
    );
    if (code.extraTool) env.tool('erase', { description: 'Erases.' }, () => 'erased');
    env.scenario(
      'write',
      {
        args: z.object({ words: z.string().default('') }),
        system: 'You keep a notebook.',
        volatile: ['clock', { tool: 'stamp', path: 'id' }],
        solution: ({ words }) => ({
          calls: words.split(' ').map((text) => ({ name: 'note', arguments: { text } })),
          answer: words,
        }),
      },
      async function* ({ words }, { seed }) {
        code.seeds.push(seed);
        if (code.setupFault !== undefined) throw new Error(code.setupFault);
        const answer: unknown = yield `${code.greeting} ${words}`;
        if (code.evaluateFault !== undefined) throw new Error(code.evaluateFault);
        return { reward: code.reward(notes, answer), info: { notes } };
      },
    );
    return env;
  });
}

export interface NotebookService extends TestService {
  readonly code: NotebookCode;
  /** Bodies that the gateway was asked with. */
  readonly asked: readonly Record<string, unknown>[];
  /** A run whose model answers by these plays, once it has ended. */
  write(body?: object): Promise<string>;
  post(path: string, body?: object, headers?: Readonly<Record<string, string>>): ReturnType<TestService['request']>;
}

/** A run service with a notebook, and a gateway that plays these responses one after the other. */
export async function startNotebook(
  plays: readonly Play[] = [],
  options: Partial<RunServiceOptions> & { readonly code?: NotebookCode; readonly parts?: TestService } = {},
): Promise<NotebookService> {
  const { code = createCode(), ...rest } = options;
  const gateway = await startGateway(...plays);
  const service = await startService({
    environments: new Map([['notebook', createNotebook(code)]]),
    models: createModels({ gatewayUrl: gateway.url, timing: fakeTiming() }),
    ...rest,
  });
  const post: NotebookService['post'] = (path, body = {}, headers = {}) =>
    service.request(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  return {
    ...service,
    code,
    post,
    get asked() {
      return gateway.requests.map(({ body }) => body);
    },
    async write(body = {}) {
      const given = { env_name: 'notebook', scenario_name: 'write', model: 'writer', ...body };
      const { json } = await post('/v1/agent/run', given);
      const { trace_id } = json as { trace_id: string };
      await service.ended(trace_id);
      return trace_id;
    },
  };
}
