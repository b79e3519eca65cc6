import type { Comparison } from '../../contract/service/evaluation.ts';
import type { ProofVerdict } from '../../contract/service/training.ts';

/** The verdict of a proof. It is `better` or `worse` only if the whole confidence interval says so. */
export function verdictOfProof(comparison: Pick<Comparison, 'difference' | 'ci95'> | undefined): ProofVerdict {
  const { difference = null, ci95 = null } = comparison ?? {};
  if (difference === null || ci95 === null) return 'open';
  const [low, high] = ci95;
  if (low > 0) return 'better';
  if (high < 0) return 'worse';
  return low === 0 && high === 0 ? 'equal' : 'open';
}
