import { ApiError, messageOf } from '../../../contract/errors.ts';
import type { ResolvedModel } from '../../../contract/model.ts';
import type { Budget } from '../../../contract/service/evaluation.ts';
import { EVALUATION_LIMITS } from '../../../contract/task.ts';
import { canonicalJson } from '../../tasks/canonical-json.ts';
import { type AttemptGrid, attemptsInAll } from '../attempt-order.ts';
import type { NewEvaluation } from '../evaluation-store.ts';

/** @throws ApiError invalid_parameter if an evaluation exceeds a limit. */
export function checkLimits({ taskset, models, attempts, name, sampling }: NewEvaluation): void {
  checkTexts({ name, models, sampling });
  const tasks = taskset.tasks.length;
  if (tasks === 0) throw invalid('tasks', 'The taskset has no tasks: there is nothing to run.');
  if (tasks > EVALUATION_LIMITS.tasks) {
    throw invalid(
      'tasks',
      `${tasks} tasks are more than the ${EVALUATION_LIMITS.tasks} of one evaluation: split them.`,
    );
  }
  const repeated = models.find((model, index) => models.indexOf(model) !== index);
  if (repeated !== undefined) {
    throw invalid(
      'models',
      `models names ${JSON.stringify(repeated)} twice: name each model once, and raise attempts.`,
    );
  }
  checkAttempts({ tasks, models: models.length, attempts });
}

/** Checks texts: those of the identity must be valid Unicode, and those in columns have no zero character. */
function checkTexts(texts: Pick<NewEvaluation, 'name' | 'models' | 'sampling'>): void {
  for (const [param, value] of Object.entries({ ...texts, models: [...texts.models] })) {
    try {
      canonicalJson(value);
    } catch (cause) {
      throw invalid(param, `${param}: ${messageOf(cause)}, which UTF-8 cannot hold.`);
    }
  }
  if (texts.name?.includes('\0')) throw invalid('name', 'name has a zero character, which cannot be stored.');
}

/** @throws ApiError invalid_parameter for too many attempts in total. */
export function checkAttempts(grid: AttemptGrid): void {
  const inAll = attemptsInAll(grid);
  if (inAll <= EVALUATION_LIMITS.attemptsInAll) return;
  const { tasks, models, attempts } = grid;
  throw invalid(
    'attempts',
    `${tasks} tasks × ${models} models × ${attempts} attempts are ${inAll} attempts, and an evaluation has at most ` +
      `${EVALUATION_LIMITS.attemptsInAll}: use fewer attempts, or split the tasks.`,
  );
}

/** @throws ApiError invalid_parameter for a model without a price, if the budget is in US dollars. */
export function checkPrices(
  models: readonly ResolvedModel[],
  budget: Budget | null | undefined,
  canPrice: (model: ResolvedModel) => boolean,
): void {
  if (budget?.usd === undefined) return;
  const unpriced = models.filter((model) => !canPrice(model));
  if (unpriced.length === 0) return;
  const names = unpriced.slice(0, 10).map(({ model }) => JSON.stringify(model));
  throw invalid(
    'budget.usd',
    `budget.usd needs the price of every model, and ${names.join(', ')} has none: set "prices" of its gateway in the ` +
      'configuration, or give a budget in tokens.',
  );
}

function invalid(param: string, message: string): ApiError {
  return new ApiError('invalid_parameter', message, { param });
}
