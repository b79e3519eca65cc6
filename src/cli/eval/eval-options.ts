import { messageOf } from '../../contract/errors.ts';
import type { Budget } from '../../contract/evaluation.ts';
import type { JsonObject } from '../../contract/json.ts';
import { checkMetadata } from '../../run-service/check-metadata.ts';
import { parseOnly, type TaskFilter } from '../../tasks/select-tasks.ts';
import { UsageError } from '../failure.ts';
import { parseMetadata } from '../options.ts';
import type { FollowOptions } from './follow-command.ts';

/** Options of `proctor eval`, as they were typed. */
export interface EvalOptions extends FollowOptions {
  readonly model?: readonly string[];
  readonly agent?: string;
  readonly userModel?: string;
  readonly judgeModel?: string;
  readonly attempts?: number;
  readonly concurrency?: number;
  readonly budget?: Budget;
  readonly only?: readonly string[];
  readonly name?: string;
  readonly new?: boolean;
  readonly seed?: number;
  readonly maxSteps?: number;
  /** In seconds. */
  readonly timeout?: number;
  readonly temperature?: number;
  readonly sampling?: JsonObject;
  readonly passThreshold: number;
  /** `name=value` each. */
  readonly metadata?: readonly string[];
}

/** The options, read and checked as far as that goes without the tasks. */
export interface EvalSettings {
  /** A path, or the name of a taskset. */
  readonly taskset: string;
  /** Without repeats. */
  readonly models: readonly string[];
  readonly agent: string | null;
  readonly userModel: string | null;
  readonly judgeModel: string | null;
  readonly attempts: number;
  readonly concurrency: number | undefined;
  readonly budget: Budget | undefined;
  readonly name: string | null;
  readonly isNew: boolean;
  readonly seed: number | null;
  readonly maxSteps: number | null;
  readonly timeoutSeconds: number | null;
  readonly sampling: JsonObject;
  readonly passThreshold: number;
  readonly metadata: Readonly<Record<string, string>>;
  /** `--only` that choose tasks. */
  readonly filters: readonly TaskFilter[];
  /** `--only` that looks at an earlier evaluation. */
  readonly ends: 'failed' | 'errored' | undefined;
}

const MAX_NAME = 200;

/** @throws UsageError */
export function readEvalSettings(taskset: string | undefined, options: EvalOptions): EvalSettings {
  const models = [...new Set(options.model ?? [])];
  if (taskset === undefined) {
    throw new UsageError(
      'Name a taskset: a file, a name, or <environment>/<scenario>. "proctor list" shows what there is.',
    );
  }
  // An agent may bring its own: whoever knows the agents says whether this one does.
  if (models.length === 0 && options.agent === undefined) {
    throw new UsageError(
      'Name a model with --model: one of the gateway, proctor/oracle, proctor/noop, proctor/random or proctor/novice.',
    );
  }
  if (options.name !== undefined && (options.name === '' || options.name.length > MAX_NAME)) {
    throw new UsageError(`--name has 1 to ${MAX_NAME} characters.`);
  }
  const metadata = parseMetadata(options.metadata);
  checkMetadata(metadata);
  const { temperature } = options;
  return {
    taskset,
    models,
    agent: options.agent ?? null,
    userModel: options.userModel ?? null,
    judgeModel: options.judgeModel ?? null,
    attempts: options.attempts ?? 1,
    concurrency: options.concurrency,
    budget: options.budget,
    name: options.name ?? null,
    isNew: options.new ?? false,
    seed: options.seed ?? null,
    maxSteps: options.maxSteps ?? null,
    timeoutSeconds: options.timeout ?? null,
    sampling: { ...options.sampling, ...(temperature === undefined ? {} : { temperature }) },
    passThreshold: options.passThreshold,
    metadata,
    ...readOnly(options),
  };
}

function readOnly({ only = [], new: isNew }: EvalOptions): Pick<EvalSettings, 'filters' | 'ends'> {
  const filters = only.map((text) => {
    try {
      return parseOnly(text);
    } catch (cause) {
      throw new UsageError(`--only: ${messageOf(cause)}`, { cause });
    }
  });
  const kinds = new Set(filters.map(({ kind }) => kind));
  if (kinds.has('failed') && kinds.has('errored')) {
    throw new UsageError('--only failed begins a new evaluation, --only errored goes on with one: take one of them.');
  }
  if (kinds.has('errored') && isNew)
    throw new UsageError('--only errored goes on with an evaluation: leave out --new.');
  const ends = kinds.has('failed') ? 'failed' : kinds.has('errored') ? 'errored' : undefined;
  return { filters: filters.filter(({ kind }) => kind !== 'failed' && kind !== 'errored'), ends };
}
