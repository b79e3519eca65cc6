import type { JsonObject } from '../../../contract/json.ts';
import type { Budget, EvaluationInput } from '../../../contract/service/evaluation.ts';
import { UsageError } from '../../base/failure.ts';
import { parseMetadata } from '../../base/options.ts';
import type { FollowOptions } from './follow-command.ts';

/** Options of `proctor eval` as typed. */
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
  /** Limit of a run in seconds. */
  readonly timeout?: number;
  readonly temperature?: number;
  readonly sampling?: JsonObject;
  readonly passThreshold: number;
  /** Pairs `name=value`. */
  readonly metadata?: readonly string[];
}

/** A request without its tasks. */
export type EvaluationSettings = Omit<EvaluationInput, 'tasks' | 'tasks_from'>;

/** @throws UsageError for a missing option, and for metadata that is not name=value. */
export function toEvaluationInput(
  taskset: string | undefined,
  options: EvalOptions,
): EvaluationSettings & { readonly taskset: string } {
  if (taskset === undefined) {
    throw new UsageError(
      'Name a taskset: a file, a name, or <environment>/<scenario>. "proctor list" shows what there is.',
    );
  }
  // An agent may bring its own model. The service knows whether it does.
  if (options.model === undefined && options.agent === undefined) {
    throw new UsageError(
      'Name a model with --model: one of the gateway, proctor/oracle, proctor/noop, proctor/random or proctor/novice.',
    );
  }
  const { concurrency, budget, temperature } = options;
  return {
    taskset,
    name: options.name ?? null,
    only: [...(options.only ?? [])],
    models: [...new Set(options.model ?? [])],
    attempts: options.attempts ?? 1,
    agent: options.agent ?? null,
    user_model: options.userModel ?? null,
    judge_model: options.judgeModel ?? null,
    max_steps: options.maxSteps ?? null,
    timeout_seconds: options.timeout ?? null,
    sampling: { ...options.sampling, ...(temperature === undefined ? {} : { temperature }) },
    seed: options.seed ?? null,
    // A continued evaluation keeps the settings that are omitted.
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(budget === undefined ? {} : { budget }),
    pass_threshold: options.passThreshold,
    metadata: { ...parseMetadata(options.metadata) },
    resume: options.new !== true,
  };
}
