import type { CheckedEnvironment, FindingState } from '../../../contract/service/check.ts';

const ROWS: readonly { readonly state: FindingState; readonly title: string }[] = [
  { state: 'found', title: 'Found' },
  { state: 'tried', title: 'Tried, and not found' },
  { state: 'partly_tried', title: 'Not tried to the end' },
  { state: 'not_tried', title: 'Not tried' },
];

/** All findings by state. Notes say why some were not tried. */
export function FindingStates({ tried }: Pick<CheckedEnvironment, 'tried'>) {
  const rows = ROWS.map(({ state, title }) => ({
    state,
    title,
    names: tried.filter((each) => each.state === state).map(({ finding }) => finding),
  })).filter(({ names }) => names.length > 0);
  if (rows.length === 0) return null;
  return (
    <dl class="finding-states">
      {rows.map(({ state, title, names }) => (
        <div key={state} class={`state-${state}`}>
          <dt>{title}</dt>
          <dd>{names.join(', ')}</dd>
        </div>
      ))}
    </dl>
  );
}
