import type { JsonObject } from '../contract/json.ts';
import type { ScenarioEntry } from '../contract/scenario.ts';
import { type AnswerWay, type Seat, type SeatRequest, seatRequestSchema } from '../contract/seat.ts';
import type { Trace } from '../contract/trace.ts';
import { checkMetadata } from '../run-service/check-metadata.ts';
import { parseMetadata } from './options.ts';
import { readScenarioArgs } from './scenario-arguments.ts';

export interface SeatSettings {
  readonly arg?: readonly string[];
  readonly args?: string;
  readonly maxSteps?: number;
  readonly model?: string;
  readonly answer?: AnswerWay;
  readonly seed?: number;
  readonly sampling?: JsonObject;
  /** In seconds. */
  readonly timeout?: number;
  /** `name=value` each. */
  readonly metadata?: readonly string[];
  /** Port of the address, where the seat is in this process. */
  readonly port?: number;
}

/** A seat that is open, until it is disposed of. */
export interface SeatPlan extends AsyncDisposable {
  readonly seat: Seat;
  /** Waits for its end; `stop` cancels it. */
  ended(stop: AbortSignal): Promise<Trace>;
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
