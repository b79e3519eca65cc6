import type { ComponentChildren } from 'preact';
import type { Comparison } from '../../../contract/service/evaluation.ts';
import {
  countText,
  meanText,
  probabilitySentence,
  signedIntervalText,
  signedText,
} from '../../../support/text/figures.ts';

const TESTS = { mcnemar: 'exact McNemar test', paired_t: 'paired t test, clustered' } as const;

/** The comparison of two models in numbers. */
export function ComparisonFigures({
  comparison,
  isOneOfMany,
}: {
  readonly comparison: Comparison;
  readonly isOneOfMany: boolean;
}) {
  const { a_model, b_model, a_mean, b_mean, difference, ci95, p_value, p_holm, test } = comparison;
  const smallest = comparison.smallest_detectable_difference;
  return (
    <dl class="comparison-figures">
      <Figure name="Difference, B − A">
        {`${signedText(difference, ci95)} `}
        <span class="quiet">{signedIntervalText(ci95)}</span>
      </Figure>
      <Figure name={`A: ${a_model}`}>{meanText(a_mean, ci95)}</Figure>
      <Figure name={`B: ${b_model}`}>{meanText(b_mean, ci95)}</Figure>
      <Figure name={TESTS[test]}>{probabilitySentence(p_value)}</Figure>
      {isOneOfMany ? <Figure name="corrected for all pairs (Holm)">{probabilitySentence(p_holm)}</Figure> : null}
      <Figure name="compared on">{countText(comparison.n_tasks, 'common task')}</Figure>
      <Figure name="smallest difference that it would find">{meanText(smallest)}</Figure>
    </dl>
  );
}

function Figure({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
