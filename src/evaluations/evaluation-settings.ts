import type { JsonObject } from '../contract/json.ts';

/** The settings of an evaluation that never change: `evaluations.settings` as JSON. */
export interface EvaluationSettings {
  /** In the order of the request: attempts name them by their index. */
  readonly models: readonly string[];
  readonly agent: string | null;
  readonly agent_version?: string | null;
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
