import type { ResolvedModel } from '../../contract/model.ts';
import { createEvaluationStore } from '../../evaluations/database-evaluation-store.ts';
import type { EvaluationStore } from '../../evaluations/evaluation-store.ts';
import type { Installation } from '../installation.ts';

/** The evaluations of the database of an installation, which stays its owner's. */
export function createStore({ database, store, queue, settings, models }: Installation): EvaluationStore {
  const canPrice = (model: ResolvedModel) => models.canPrice(model);
  return createEvaluationStore({ database, store, queue, appUrl: settings.appUrl, canPrice });
}
