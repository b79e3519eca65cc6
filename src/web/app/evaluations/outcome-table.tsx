import { grouped } from '../../../support/text/figures.ts';
import type { ModelCells } from '../../evaluations/evaluation-data.ts';
import { CELL_LETTERS, CELL_STATES, type CellState, isGraded } from '../../evaluations/evaluation-data.ts';
import { navigate } from '../navigate.ts';
import { withChoices } from './evaluation-paths.ts';
import { OutcomeBar } from './outcome-bar.tsx';
import { LOOKS, toneOf } from './states.ts';

/** How many attempts of each model ended how. Each number leads to the tasks that have such attempts. */
export function OutcomeTable({
  models,
  threshold,
  query,
}: {
  readonly models: readonly ModelCells[];
  readonly threshold: number;
  readonly query: URLSearchParams;
}) {
  const present = CELL_STATES.filter((state) => models.some(({ counts }) => (counts[CELL_LETTERS[state]] ?? 0) > 0));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
    <section class="table-scroll" aria-label="Outcomes by model" tabIndex={0}>
      <table class="table figures">
        <thead>
          <tr>
            <td />
            {models.map(({ model, counts, passed }) => (
              <th key={model} scope="col" class="number">
                {model}
                <OutcomeBar counts={counts} passed={passed} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <tr>
            <th scope="row">
              <Sign state="graded" reward={threshold} threshold={threshold} sign="✓" /> passed
              <span class="quiet small">{` reward ≥ ${threshold}`}</span>
            </th>
            {models.map(({ model, passed }) => (
              <td key={model} class="number">
                <Count count={passed} href={withChoices(query, { model, outcome: 'passed' })} />
              </td>
            ))}
          </tr>
          {present.map((state) => (
            <tr key={state}>
              <th scope="row" title={LOOKS[state].meaning}>
                <Sign state={state} reward={null} threshold={threshold} sign={LOOKS[state].sign} /> {LOOKS[state].title}
              </th>
              {models.map(({ model, counts }) => (
                <td key={model} class="number">
                  <Count
                    count={counts[CELL_LETTERS[state]] ?? 0}
                    href={withChoices(query, { model, outcome: state })}
                  />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Sign(props: {
  readonly state: CellState;
  readonly reward: number | null;
  readonly threshold: number;
  readonly sign: string;
}) {
  const { state, reward, threshold, sign } = props;
  const isPlain = state === 'graded' && reward === null;
  const tone = isGraded(state) || isPlain ? 'plain' : toneOf(state, reward, threshold);
  return (
    <span class={`cell ${tone}`} aria-hidden="true">
      {isPlain ? '#' : sign}
    </span>
  );
}

function Count({ count, href }: { readonly count: number; readonly href: string }) {
  if (count === 0) return <span class="quiet">0</span>;
  return (
    <a
      class="cell-filter"
      href={href}
      onClick={(event) => {
        // It is about the tasks, which stand elsewhere on the page.
        if (event.metaKey || event.ctrlKey || event.shiftKey) return;
        event.preventDefault();
        navigate(href, { replace: true });
        document.getElementById('tasks')?.scrollIntoView();
      }}
    >
      {grouped(count)}
    </a>
  );
}
