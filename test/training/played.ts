import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import {
  type DatasetFormat,
  type DatasetManifest,
  type DatasetSelectInput,
  type DatasetSource,
  datasetSelectSchema,
} from '../../src/contract/service/dataset.ts';
import { evaluationAcceptedSchema } from '../../src/contract/service/evaluation.ts';
import type { Task, TaskInput } from '../../src/contract/task.ts';
import { createModels } from '../../src/models/gateway/create-model.ts';
import { createRedactor } from '../../src/support/redaction/redactor.ts';
import { buildDataset, type DatasetParts } from '../../src/training/dataset/build-dataset.ts';
import { delta } from '../gateway.ts';
import { startService, type TestService, temporaryDirectory, traceIdOf } from '../service/runs/service.ts';
import { SHOP } from './shop.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into lines, whose shape is what they are about
export type Line = { readonly [field: string]: any };

/** The body of a request to the gateway. */
export interface AskedBody {
  readonly model: string;
  readonly messages: readonly Line[];
  readonly tools?: readonly Line[];
}

/** What a model says: its fields of a message, with calls as `[name, arguments]` (a text is sent as it is). */
export interface Said {
  readonly content?: string;
  readonly reasoning?: readonly [field: 'reasoning' | 'reasoning_content', text: string];
  readonly calls?: readonly (readonly [name: string, args: object | string])[];
  readonly finish?: string;
}

export interface Played extends TestService {
  /** Bodies of all requests. */
  readonly bodies: readonly AskedBody[];
  play(scenario: string, args: object, model: string): Promise<string>;
  /** An evaluation to its end. @returns its id. */
  evaluate(tasks: readonly TaskInput[], models: readonly string[], attempts?: number): Promise<string>;
  readonly parts: DatasetParts;
  build(from: DatasetSource, options?: BuildOptions): Promise<Built>;
}

export interface BuildOptions {
  readonly format?: DatasetFormat;
  readonly select?: DatasetSelectInput;
  readonly heldOut?: readonly { readonly name: string; readonly tasks: readonly Task[] }[];
  readonly parts?: Partial<DatasetParts>;
  readonly account?: string;
  readonly folder?: string;
}

export interface Built {
  readonly folder: string;
  readonly manifest: DatasetManifest;
  readonly train: readonly Line[];
  readonly validation: readonly Line[];
  readonly sources: readonly Line[];
  text(name: string): string;
}

/** A service whose gateway is a script: it answers by the model's name and the conversation so far. */
export async function startPlayed(script: (body: AskedBody) => Said): Promise<Played> {
  const bodies: AskedBody[] = [];
  const create = async (given: object) => {
    const body = structuredClone(given) as AskedBody;
    bodies.push(body);
    return (async function* () {
      yield* toChunks(script(body), bodies.length);
    })();
  };
  const models = createModels({ client: { chat: { completions: { create } } } });
  const service = await startService({ models, environments: new Map([['shop', SHOP]]) });
  const parts = { database: service.database, traces: service.store, redactor: createRedactor() };
  return {
    ...service,
    bodies,
    parts,
    play: async (scenario_name, scenario_args, model) => {
      const id = traceIdOf(await service.run({ env_name: 'shop', scenario_name, scenario_args, model }));
      await service.ended(id);
      return id;
    },
    evaluate: async (tasks, asked, attempts = 1) => {
      const reply = await service.request('/v1/evaluations', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ tasks, models: asked, attempts }),
      });
      const { evaluation_id: id } = evaluationAcceptedSchema.parse(reply.json);
      await service.request(`/v1/evaluations/${id}?wait=60`);
      return id;
    },
    build: (from, options) => buildFrom(parts, from, options),
  };
}

async function buildFrom(parts: DatasetParts, from: DatasetSource, options: BuildOptions = {}): Promise<Built> {
  const { format = 'openai', select = {}, heldOut = [], account = 'local' } = options;
  const folder = options.folder ?? join(temporaryDirectory(onTestFinished), randomBytes(4).toString('hex'));
  const request = { account, from, format, select: datasetSelectSchema.parse({ validation: 0, ...select }), heldOut };
  const signal = new AbortController().signal;
  const manifest = await buildDataset({ ...parts, ...options.parts }, request, folder, { signal });
  const text = (name: string) => readFileSync(join(folder, name), 'utf8');
  const lines = (name: string) =>
    text(name)
      .split('\n')
      .filter(Boolean)
      .map((line): Line => JSON.parse(line));
  return {
    folder,
    manifest,
    train: lines('train.jsonl'),
    validation: lines('validation.jsonl'),
    sources: lines('sources.jsonl'),
    text,
  };
}

/** What a step of a manifest says. */
export function stepOf({ steps }: DatasetManifest, name: string) {
  return steps.find(({ step }) => step === name);
}

function* toChunks({ content, reasoning, calls = [], finish }: Said, request: number) {
  yield delta({ role: 'assistant', content: content ?? null });
  if (reasoning !== undefined) yield delta({ [reasoning[0]]: reasoning[1] });
  for (const [index, [name, args]] of calls.entries()) {
    const text = typeof args === 'string' ? args : JSON.stringify(args);
    const call = { index, id: `call_${request}_${index}`, type: 'function', function: { name, arguments: text } };
    yield delta({ tool_calls: [call] });
  }
  yield delta({}, finish ?? (calls.length > 0 ? 'tool_calls' : 'stop'));
}
