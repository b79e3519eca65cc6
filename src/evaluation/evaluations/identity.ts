import { createHash } from 'node:crypto';
import { canonicalJson } from '../tasks/canonical-json.ts';
import type { NewEvaluation } from './evaluation-store.ts';

/**
 * A hash of everything that makes two evaluations of an account the same (contract section 7, "Identity"), as 64 hex
 * digits. A repeated command resumes the evaluation with its hash. Number of attempts, concurrency, budget and metadata
 * are not part of it.
 */
export function identityOf(evaluation: Omit<NewEvaluation, 'account'>): string {
  const identity = {
    name: evaluation.name,
    taskset: evaluation.taskset.version,
    models: [...evaluation.models].sort(),
    ...resolvedFields(evaluation),
    agent: agentIdentity(evaluation),
    ...playFields(evaluation),
  };
  return createHash('sha256').update(canonicalJson(identity)).digest('hex');
}

/** Identity of the agent, which includes its version; null without an agent, so that older hashes stay valid. */
function agentIdentity({ agent = null, agentVersion = null }: Pick<NewEvaluation, 'agent' | 'agentVersion'>) {
  return agent === null ? null : { name: agent, version: agentVersion };
}

/** How attempts are played and judged. An evaluation that names no model for its harness has no field for one. */
export function playFields(evaluation: Omit<NewEvaluation, 'account'>) {
  const { userModel, judgeModel } = evaluation;
  return {
    ...(userModel == null ? {} : { user_model: userModel }),
    ...(judgeModel == null ? {} : { judge_model: judgeModel }),
    max_steps: evaluation.maxSteps,
    timeout_seconds: evaluation.timeoutSeconds,
    sampling: evaluation.sampling,
    seed: evaluation.seed,
    pass_threshold: evaluation.passThreshold,
  };
}

/**
 * Resolved registered models, because a moved head is another model. Evaluations without them keep their older hash.
 */
function resolvedFields({ resolved = [] }: Pick<NewEvaluation, 'resolved'>) {
  if (resolved.length === 0) return {};
  const targets = resolved.map(({ model, target, gateway }) => [model, target, gateway]);
  return { resolved: targets.sort((one, other) => (String(one[0]) < String(other[0]) ? -1 : 1)) };
}
