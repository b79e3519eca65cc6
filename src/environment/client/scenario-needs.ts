import { ApiError } from '../../contract/errors.ts';
import type { Json, JsonObject } from '../../contract/json.ts';
import type { ScenarioEntry } from '../../contract/scenario.ts';

/** Names of models. Null or undefined means that none is named. */
export interface NamedModels {
  readonly user?: string | null | undefined;
  readonly judge?: string | null | undefined;
}

/** A task, or only the arguments of a run. */
interface TaskInput {
  readonly args: JsonObject;
  readonly user_script?: Json | undefined;
}

const WORK = { user: 'plays its simulated user', judge: 'judges for its evaluation' } as const;

/**
 * Checks that every model that the scenario needs is named. A user with a script needs no model.
 *
 * @throws ApiError `invalid_parameter` that names the field and the setting.
 */
export function checkScenarioNeeds(
  { short_name, needs = [] }: ScenarioEntry,
  { args, user_script: script = args.user_script }: TaskInput,
  named: NamedModels,
): void {
  const missing = needs.find((need) => !named[need] && !(need === 'user' && Array.isArray(script)));
  if (missing === undefined) return;
  const message = `No model ${WORK[missing]} for the scenario ${short_name}: name one as ${missing}_model (--${missing}-model), or set models.${missing} in the configuration.`;
  throw new ApiError('invalid_parameter', message, { param: `${missing}_model` });
}

/**
 * Checks that there is a judge if the scenario needs one, for a session whose request cannot name one.
 *
 * @throws ApiError `invalid_parameter` that names the setting.
 */
export function checkSessionJudge({ short_name, needs = [] }: ScenarioEntry, judge: NamedModels['judge']): void {
  if (!needs.includes('judge') || judge) return;
  const message = `No model ${WORK.judge} for the scenario ${short_name}: set models.judge in the configuration.`;
  throw new ApiError('invalid_parameter', message, { param: 'scenario' });
}
