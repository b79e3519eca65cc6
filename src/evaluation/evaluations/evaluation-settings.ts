import type { JsonObject } from '../../contract/json.ts';
import type { ResolvedModel } from '../../contract/model.ts';

/** Settings of an evaluation that never change: `evaluations.settings` as JSON. */
export interface EvaluationSettings {
  /** Models in the order of the request. Attempts refer to them by index. */
  readonly models: readonly string[];
  /** Registered names as resolved when the evaluation was made. Later changes of the names do not affect it. */
  readonly resolved?: readonly ResolvedModel[] | undefined;
  readonly agent: string | null;
  readonly agent_version?: string | null;
  /** Models for users and judges; absent if the evaluation names none. */
  readonly user_model?: string;
  readonly judge_model?: string;
  readonly max_steps: number | null;
  readonly timeout_seconds: number | null;
  readonly sampling: JsonObject;
  readonly seed: number | null;
  readonly pass_threshold: number;
  readonly metadata: Readonly<Record<string, string>>;
}

/** Reads settings without checks, because only this layer writes them. */
export function parseSettings(settings: string): EvaluationSettings {
  return JSON.parse(settings) as EvaluationSettings;
}

/** The resolved model for a name of the evaluation. */
export function resolvedOf({ resolved = [] }: Pick<EvaluationSettings, 'resolved'>, model: string): ResolvedModel {
  return resolved.find((each) => each.model === model) ?? { model, target: model, gateway: null };
}

/** The models of an evaluation, in order. */
export function modelsOf(settings: Pick<EvaluationSettings, 'models' | 'resolved'>): readonly ResolvedModel[] {
  return settings.models.map((model) => resolvedOf(settings, model));
}

/** The models for users and judges, which are always provider names. */
export function harnessModelsOf({ user_model, judge_model }: EvaluationSettings): readonly ResolvedModel[] {
  const names = [user_model, judge_model].filter((name) => name !== undefined);
  return names.map((model) => ({ model, target: model, gateway: null }));
}
