import { formatTime } from '../../../format.ts';
import { service } from '../../api.ts';
import { useResource } from '../../use-resource.ts';
import { withChoices } from '../evaluation-paths.ts';

/** The rewards that an address asks for: those of the runs, unless it says otherwise. */
export function gradesOf(query: URLSearchParams): { readonly grades?: 'current' } {
  return query.get('grades') === 'current' ? { grades: 'current' } : {};
}

/** Links to the figures by the rewards of the runs and by the newest grades, where an evaluation was graded again. */
export function GradesChoice({
  evaluationId,
  query,
}: {
  readonly evaluationId: string;
  readonly query: URLSearchParams;
}) {
  const { resource } = useResource((signal) => service.regrades.list(evaluationId, { signal }), [evaluationId]);
  const [newest] = resource.state === 'ready' ? resource.value.data : [];
  if (newest === undefined) return null;
  const { done, total } = newest.progress;
  const state = newest.status === 'completed' ? '' : ` (${newest.status}, ${done} of ${total} done)`;
  return (
    <>
      <GradesLinks query={query} />
      <p class="quiet">
        {`Graded again on ${formatTime(newest.created_at)} UTC${state}: `}
        <a href={`/regrades/${newest.job_id}`}>what changed</a>
      </p>
    </>
  );
}

/** The choice itself. */
export function GradesLinks({ query }: { readonly query: URLSearchParams }) {
  const { grades } = gradesOf(query);
  return (
    <nav class="choice-links" aria-label="Rewards">
      <a href={withChoices(query, { grades: 'recorded' })} aria-current={grades === undefined ? 'true' : undefined}>
        Rewards of the runs
      </a>
      <a href={withChoices(query, { grades: 'current' })} aria-current={grades === 'current' ? 'true' : undefined}>
        Newest grades
      </a>
    </nav>
  );
}
