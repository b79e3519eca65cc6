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
    ...resolvedFields(evaluation),
    agent: agentIdentity(evaluation),
    ...harnessFields(evaluation),
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

/** The models that the evaluation names for its harness. Those without keep the identity that they always had. */
export function harnessFields({ userModel, judgeModel }: Pick<NewEvaluation, 'userModel' | 'judgeModel'>) {
  return {
    ...(userModel == null ? {} : { user_model: userModel }),
    ...(judgeModel == null ? {} : { judge_model: judgeModel }),
  };
}

/** A registered model whose head has moved is another model. Evaluations without one keep the identity that they always had. */
function resolvedFields({ resolved = [] }: Pick<NewEvaluation, 'resolved'>) {
  if (resolved.length === 0) return {};
  const targets = resolved.map(({ model, target, gateway }) => [model, target, gateway]);
  return { resolved: targets.sort((one, other) => (String(one[0]) < String(other[0]) ? -1 : 1)) };
}
