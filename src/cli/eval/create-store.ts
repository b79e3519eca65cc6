import type { EvaluationStore } from '../../evaluations/evaluation-store.ts';
import type { Installation } from '../installation.ts';

export function createStore(_installation: Installation): EvaluationStore {
  throw new Error('not built yet');
}
