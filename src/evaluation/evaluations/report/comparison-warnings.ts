import { DEFAULT_MIN_COVERAGE } from '../../../support/text/evaluation-figures.ts';
import { countText, grouped } from '../../../support/text/figures.ts';
import { type EvaluationPlan, outcomeOfRest } from '../evaluation-plan.ts';
import type { ComparedModel } from './comparison-builder.ts';

export interface ComparisonGround {
  readonly a: EvaluationPlan;
  readonly b: EvaluationPlan;
  readonly compared: readonly { readonly a: ComparedModel; readonly b: ComparedModel }[];
  /** Common tasks whose attempts did not all run the same code of their environment. */
  readonly changedCode: number;
  /** Common tasks that are of other clusters in b. */
  readonly otherClusters: number;
}

/** Reasons to trust a comparison less, in sentences for people. */
export function comparisonWarnings({ a, b, compared, changedCode, otherClusters }: ComparisonGround): string[] {
  const warnings = [...statusWarnings(a, 'a'), ...(a.evaluationId === b.evaluationId ? [] : statusWarnings(b, 'b'))];
  for (const pair of compared) {
    if (a.evaluationId !== b.evaluationId || pair.a.model !== pair.b.model) continue;
    warnings.push(`${pair.a.model} is compared with itself: a and b are the same evaluation.`);
  }
  const sides = [
    { plan: a, side: 'a', models: compared.map((pair) => pair.a) },
    { plan: b, side: 'b', models: compared.map((pair) => pair.b) },
  ];
  for (const { plan, side, models } of sides) {
    for (const each of models) warnings.push(...coverageWarnings(plan, side, each));
  }
  if (a.passThreshold !== b.passThreshold) {
    warnings.push(`The pass thresholds differ: ${a.passThreshold} in a, ${b.passThreshold} in b.`);
  }
  if (changedCode > 0) {
    const reason = 'a difference may come from that';
    warnings.push(
      `The code of the environment was not the same for all attempts of ${countText(changedCode, 'common task')} (environment_hash): ${reason}.`,
    );
  }
  if (otherClusters > 0)
    warnings.push(`The clusters of ${countText(otherClusters, 'common task')} differ: those of a are used.`);
  return warnings;
}

function statusWarnings(plan: EvaluationPlan, side: string): string[] {
  return outcomeOfRest(plan) === undefined
    ? [`The evaluation ${side} is ${plan.status}: its figures will change.`]
    : [];
}

function coverageWarnings(plan: EvaluationPlan, side: string, { model, cells }: ComparedModel): string[] {
  const all = plan.tasks * plan.attempts;
  const valid = cells.countValid();
  if (valid / all >= DEFAULT_MIN_COVERAGE) return [];
  return [
    `${grouped(all - valid)} of ${countText(all, 'attempt')} of ${model} in ${side} have no reward: they are left out.`,
  ];
}
