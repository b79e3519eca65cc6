import { ApiError } from '../../contract/errors.ts';
import type { ComparisonList } from '../../contract/service/evaluation.ts';
import { createTaskset } from '../../evaluation/tasks/taskset.ts';
import { PERIODS_MS } from '../../support/runtime/periods.ts';
import { countText, differenceText } from '../../support/text/figures.ts';
import type { JobLease } from './job-lease.ts';
import { type Job, readJobTasks } from './job-rows.ts';
import { verdictOfProof } from './proof-verdict.ts';
import type { StepParts } from './step-parts.ts';

type Side = 'baseEvaluation' | 'modelEvaluation';

/**
 * Evaluates base and model on the tasks of the proof, and compares them. Each evaluation is created once, in the same
 * commit that records it. A failed evaluation does not fail the job, because the model exists.
 */
export async function prove(parts: StepParts, lease: JobLease): Promise<number> {
  const { request } = lease.job;
  try {
    await evaluate(parts, lease, 'baseEvaluation', request.base);
    await evaluate(parts, lease, 'modelEvaluation', request.name);
    const { account, result } = lease.job;
    const [a = '', b = ''] = [result.baseEvaluation, result.modelEvaluation];
    const states = await Promise.all([a, b].map((id) => parts.evaluations.status(account, id)));
    if (states.includes('cancelled')) return await leave(lease, 'One of its evaluations was cancelled.');
    if (states.some((state) => state !== 'completed')) return PERIODS_MS.proofs;
    const compare = await parts.evaluations.compare(account, { a, b, a_model: request.base, b_model: request.name });
    const missing = whyNoProof(compare);
    if (missing !== undefined) return await leave(lease, missing);
    const proof = { base_evaluation: a, model_evaluation: b, compare };
    await lease.write({ status: 'succeeded', message: describeProof(compare), result: { proof, trouble: null } });
    return 0;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return await leave(lease, error.message);
  }
}

/** Cancels the evaluations of a proof that is no longer needed. */
export async function cancelProof({ evaluations }: StepParts, { account, result }: Job): Promise<void> {
  for (const id of [result.baseEvaluation, result.modelEvaluation]) {
    if (id === undefined) continue;
    try {
      await evaluations.cancel(account, id);
    } catch (error) {
      // The evaluation has ended or was deleted.
      if (!(error instanceof ApiError)) throw error;
    }
  }
}

async function evaluate(parts: StepParts, lease: JobLease, side: Side, model: string): Promise<void> {
  const { id, account, keyId, request, result } = lease.job;
  if (result[side] !== undefined || request.evaluate === null) return;
  const { tasks: names, attempts, seed } = request.evaluate;
  const { proof } = await readJobTasks(parts.database.kysely, id);
  let committed = () => {};
  await parts.evaluations.create(
    {
      account,
      keyId,
      name: `${request.name}: ${side === 'baseEvaluation' ? 'base' : 'model'}`.slice(0, 200),
      taskset: createTaskset(names.join(', '), proof),
      models: [model],
      attempts,
      maxSteps: null,
      timeoutSeconds: null,
      sampling: {},
      seed,
      passThreshold: 1,
      metadata: { training_job: id },
    },
    {
      inTransaction: async (transaction, { evaluationId }) => {
        ({ committed } = await lease.writeIn(transaction, { result: { [side]: evaluationId } }));
      },
    },
  );
  committed();
}

/** Finishes the job with its model but without a proof. */
async function leave(lease: JobLease, reason: string): Promise<number> {
  await lease.write({
    status: 'succeeded',
    message: `There is no proof: ${reason}`,
    result: { proofError: reason, trouble: null },
  });
  return 0;
}

function whyNoProof({ comparisons: [comparison] }: ComparisonList): string | undefined {
  if (comparison !== undefined && comparison.n_tasks > 0) return undefined;
  return 'No task has a reward of both the base and the model.';
}

/** The verdict and the gain in one line. */
function describeProof({ comparisons: [comparison] }: ComparisonList): string {
  const { difference = null, ci95 = null, n_tasks = 0 } = comparison ?? {};
  if (difference === null) return 'The base and the model could not be compared.';
  const verdict = VERDICTS[verdictOfProof(comparison)];
  return `On ${countText(n_tasks, 'task')} that it has not seen ${verdict}: its mean reward differs by ${differenceText(difference, ci95)}.`;
}

const VERDICTS = {
  better: 'the model is better than its base',
  worse: 'the model is worse than its base',
  equal: 'the model and its base are equal',
  open: 'no difference can be told between the model and its base',
} as const;
