import type { EvaluationPlace } from '../router.ts';
import { CompareEvaluationsPage } from './compare-evaluations-page.tsx';
import { EvaluationPage } from './evaluation-page.tsx';
import { EvaluationsPage } from './evaluations-page.tsx';

/** The pages of evaluations: their script is loaded for them alone. */
export function EvaluationPages({ place }: { readonly place: EvaluationPlace }) {
  switch (place.page) {
    case 'evaluation':
      return <EvaluationPage key={place.evaluationId} evaluationId={place.evaluationId} query={place.query} />;
    case 'compare-evaluations':
      return <CompareEvaluationsPage query={place.query} />;
    default:
      return <EvaluationsPage query={place.query} />;
  }
}
