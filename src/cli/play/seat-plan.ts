import type { JsonObject } from '../../contract/json.ts';
import type { ScenarioEntry } from '../../contract/scenario.ts';
import { type AnswerWay, type SeatRequest, seatRequestSchema } from '../../contract/service/seat.ts';
import { checkMetadata } from '../../service/runs/routes/check-metadata.ts';
import { parseMetadata } from '../base/options.ts';
import { readScenarioArgs } from '../base/scenario-arguments.ts';

export interface SeatSettings {
  readonly arg?: readonly string[];
  readonly args?: string;
  readonly maxSteps?: number;
  readonly model?: string;
  readonly answer?: AnswerWay;
  readonly seed?: number;
  readonly sampling?: JsonObject;
  /** Limit of the run in seconds. */
  readonly timeout?: number;
  /** Pairs `name=value`. */
  readonly metadata?: readonly string[];
  /** Port of the address for a seat of this directory. */
  readonly port?: number;
}

/** @param typedName of the environment, for messages. @throws UsageError, or ApiError `invalid_scenario_args`. */
export function toSeatRequest(
  envName: string,
  scenario: ScenarioEntry,
  settings: SeatSettings,
  typedName = envName,
): SeatRequest {
  const metadata = parseMetadata(settings.metadata);
  checkMetadata(metadata);
  return seatRequestSchema.parse({
    env_name: envName,
    scenario_name: scenario.short_name,
    scenario_args: readScenarioArgs(scenario, settings, `proctor seat ${typedName}`),
    model: settings.model,
    answer: settings.answer,
    seed: settings.seed,
    sampling: settings.sampling,
    max_steps: settings.maxSteps,
    timeout_seconds: settings.timeout,
    metadata,
  });
}
