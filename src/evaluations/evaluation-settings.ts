import type { JsonObject } from '../contract/json.ts';
import type { ResolvedModel } from '../contract/model.ts';

/** The settings of an evaluation that never change: `evaluations.settings` as JSON. */
export interface EvaluationSettings {
  /** In the order of the request: attempts name them by their index. */
  readonly models: readonly string[];
  /** The meaning of registered names when the evaluation was made: it goes on with them, whatever moves meanwhile. */
  readonly resolved?: readonly ResolvedModel[] | undefined;
  readonly agent: string | null;
  readonly agent_version?: string | null;
  /** Models of the harness. Absent: the evaluation names none. */
  readonly user_model?: string;
  readonly judge_model?: string;
  readonly max_steps: number | null;
  readonly timeout_seconds: number | null;
  readonly sampling: JsonObject;
  readonly seed: number | null;
  readonly pass_threshold: number;
  readonly metadata: Readonly<Record<string, string>>;
}

/** Rows hold what this layer wrote, so that reading them back trusts them. */
export function parseSettings(settings: string): EvaluationSettings {
  return JSON.parse(settings) as EvaluationSettings;
}

/** The meaning of a name of the evaluation. */
export function resolvedOf({ resolved = [] }: Pick<EvaluationSettings, 'resolved'>, model: string): ResolvedModel {
  return resolved.find((each) => each.model === model) ?? { model, target: model, gateway: null };
}

/** Its models, in their order. */
export function modelsOf(settings: Pick<EvaluationSettings, 'models' | 'resolved'>): readonly ResolvedModel[] {
  return settings.models.map((model) => resolvedOf(settings, model));
}

/** Those that it names for its harness: always names of a provider. */
export function harnessModelsOf({ user_model, judge_model }: EvaluationSettings): readonly ResolvedModel[] {
  const names = [user_model, judge_model].filter((name) => name !== undefined);
  return names.map((model) => ({ model, target: model, gateway: null }));
}
