import { useState } from 'preact/hooks';
import type { EvaluationDetail } from '../../../contract/service/evaluation.ts';
import { toComparePath } from './evaluation-paths.ts';
import { gradesOf } from './matrix/grades-choice.tsx';

/** Leads to the paired comparison of two models of this evaluation, by the rewards that its address has chosen. */
export function ModelComparison({
  evaluation: { evaluation_id: id, models },
  query,
}: {
  readonly evaluation: EvaluationDetail;
  readonly query: URLSearchParams;
}) {
  const [a, setA] = useState(models[0] ?? '');
  const [b, setB] = useState(models[1] ?? '');
  if (models.length < 2) return null;
  const choices = (value: string, choose: (model: string) => void, label: string) => (
    <select value={value} aria-label={label} onChange={(event) => choose(event.currentTarget.value)}>
      {models.map((model) => (
        <option key={model} value={model}>
          {model}
        </option>
      ))}
    </select>
  );
  return (
    <p class="model-comparison">
      Is {choices(b, setB, 'Model B')} better than {choices(a, setA, 'Model A')}?{' '}
      {a === b ? (
        <span class="quiet">Choose two models.</span>
      ) : (
        <a class="button" href={toComparePath({ a: id, b: id, a_model: a, b_model: b, ...gradesOf(query) })}>
          Compare task by task
        </a>
      )}
    </p>
  );
}
