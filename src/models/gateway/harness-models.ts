import { ApiError } from '../../contract/errors.ts';
import type { Models } from './create-model.ts';
import { isReferenceModel } from './reference/reference-models.ts';

/** The reference user, which says the lines of the argument `user_script`. It cannot play an agent. */
export const USER_SCRIPT = 'proctor/user-script';
/** The reference judge, which gives the verdicts of the argument `judge_script` in turn. It reads nothing. */
export const JUDGE_SCRIPT = 'proctor/judge-script';

const REFERENCES: Readonly<Record<string, string>> = { user_model: USER_SCRIPT, judge_model: JUDGE_SCRIPT };

/**
 * Checks the models that a request names for users and judges.
 *
 * @throws ApiError `model_not_found` for a name without a gateway; `invalid_parameter` for a reference model that plays
 *   agents.
 */
export function checkHarnessModels(
  models: Pick<Models, 'check'>,
  named: Readonly<Record<string, string | null>>,
): void {
  for (const [param, name] of Object.entries(named)) {
    if (name === null || name === REFERENCES[param]) continue;
    if (isReferenceModel(name)) {
      const message = `${param} is ${JSON.stringify(name)}, which does not do that. Name a model of a gateway, or ${REFERENCES[param]}.`;
      throw new ApiError('invalid_parameter', message, { param });
    }
    try {
      models.check(name);
    } catch (error) {
      if (error instanceof ApiError) throw new ApiError(error.code, error.message, { param, cause: error });
      throw error;
    }
  }
}
