import { createHash } from 'node:crypto';
import { canonicalJson } from '../tasks/canonical-json.ts';
import type { NewEvaluation } from './evaluation-store.ts';

/**
 * A hash of everything that makes two evaluations of an account the same one (contract section 7, "Identity"), as 64 hex digits: the same
 * command goes on with it. How many attempts, how many at once, for how much and with which metadata is no part of it.
 */
export function identityOf(evaluation: Omit<NewEvaluation, 'account'>): string {
  const identity = {
    name: evaluation.name,
    taskset: evaluation.taskset.version,
    models: [...evaluation.models].sort(),
    agent: agentIdentity(evaluation),
    max_steps: evaluation.maxSteps,
    timeout_seconds: evaluation.timeoutSeconds,
    sampling: evaluation.sampling,
    seed: evaluation.seed,
    pass_threshold: evaluation.passThreshold,
  };
  return createHash('sha256').update(canonicalJson(identity)).digest('hex');
}

/** With another version it is another agent. Null without one, as it was before there were agents. */
function agentIdentity({ agent = null, agentVersion = null }: Pick<NewEvaluation, 'agent' | 'agentVersion'>) {
  return agent === null ? null : { name: agent, version: agentVersion };
}
