import { useState } from 'preact/hooks';
import type { Comparison, ComparisonList } from '../../../contract/service/evaluation.ts';
import { grouped, signedText } from '../../../support/text/figures.ts';
import type {
  CellGroup,
  COMPARED_KINDS,
  ComparedTask,
  ComparedTasks as ComparedTasksReply,
} from '../../evaluations/evaluation-data.ts';
import { connection } from '../api.ts';
import { comparePath } from '../compare/compare-path.ts';
import { Loaded } from '../components/states.tsx';
import { useResource } from '../use-resource.ts';
import { withChoices } from './evaluation-paths.ts';
import { gradesOf } from './matrix/grades-choice.tsx';
import { Group } from './matrix/matrix-row.tsx';

/** Tasks of one list that are read at once. */
const PAGE = 100;

const LISTS = ['won', 'lost', 'tied', 'only_a', 'only_b', 'changed'] as const;
type ListName = (typeof LISTS)[number];

const FIRST_LISTS = ['lost', 'won', 'tied'] as const;

const TITLES: Readonly<Record<ListName, string>> = {
  won: 'B won',
  lost: 'B lost',
  tied: 'tied',
  only_a: 'only in A',
  only_b: 'only in B',
  changed: 'changed',
};

interface ComparedTasksProps {
  readonly compared: ComparisonList;
  readonly comparison: Comparison;
  readonly query: URLSearchParams;
}

/** The tasks by what came of the comparison, those that differ most first. */
export function ComparedTasks({ compared, comparison, query }: ComparedTasksProps) {
  // Somebody who asks whether to change over wants to see first where it got worse.
  const fallback = FIRST_LISTS.find((name) => comparison[`${name}_count`] > 0) ?? 'won';
  const shown = LISTS.find((name) => name === query.get('list')) ?? fallback;
  return (
    <section class="compared-tasks" aria-label="Tasks">
      <h2>Tasks</h2>
      <nav class="choice-links" aria-label="Lists of tasks">
        {LISTS.filter((name) => comparison[`${name}_count`] > 0 || name === 'won' || name === 'lost').map((name) => (
          <a key={name} href={withChoices(query, { list: name })} aria-current={name === shown ? 'true' : undefined}>
            {`${TITLES[name]} ${grouped(comparison[`${name}_count`])}`}
          </a>
        ))}
      </nav>
      {isPaired(shown) ? (
        <PairedList key={shown} compared={compared} comparison={comparison} query={query} kind={shown} />
      ) : (
        <IdList name={shown} ids={comparison[shown]} count={comparison[`${shown}_count`]} />
      )}
    </section>
  );
}

type Kind = (typeof COMPARED_KINDS)[number];

function isPaired(name: ListName): name is Kind {
  return name === 'won' || name === 'lost' || name === 'tied';
}

function IdList({
  name,
  ids,
  count,
}: {
  readonly name: ListName;
  readonly ids: readonly string[];
  readonly count: number;
}) {
  return (
    <>
      <p class="quiet">
        {name === 'changed'
          ? 'They have one id, and another environment, scenario or other arguments: they are not compared.'
          : 'The other side has no such task.'}
      </p>
      <ul class="id-list">
        {ids.map((id) => (
          <li key={id}>{id}</li>
        ))}
      </ul>
      {count > ids.length ? <p class="quiet">{`and ${grouped(count - ids.length)} more`}</p> : null}
    </>
  );
}

function PairedList({
  compared: { a, b },
  comparison: { a_model, b_model },
  kind,
  query: chosen,
}: ComparedTasksProps & { readonly kind: Kind }) {
  const [pages, setPages] = useState(1);
  const { resource, reload } = useResource(
    async (signal): Promise<ComparedTasksReply> => {
      const read = (page: number) => {
        const shown = { offset: `${page * PAGE}`, limit: `${PAGE}` };
        const query = new URLSearchParams({ a, b, a_model, b_model, kind, ...shown, ...gradesOf(chosen) });
        const path = `/data/evaluations/compared?${query}`;
        return connection.json<ComparedTasksReply>({ method: 'GET', path, isRepeatable: true, signal });
      };
      const [first, ...others] = await Promise.all([
        read(0),
        ...Array.from({ length: pages - 1 }, (_, page) => read(page + 1)),
      ]);
      return { ...first, offset: 0, rows: [first, ...others].flatMap(({ rows }) => rows) };
    },
    [a, b, a_model, b_model, kind, pages],
  );
  return (
    <Loaded resource={resource} retry={reload}>
      {({ matched, rows, pass_threshold: threshold }) => (
        <>
          {rows.length === 0 ? (
            <p class="quiet">None.</p>
          ) : (
            // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
            <section class="table-scroll" aria-label="Compared tasks" tabIndex={0}>
              <table class="table compared-table">
                <thead>
                  <tr>
                    <th scope="col">Task</th>
                    <th scope="col">A</th>
                    <th scope="col">B</th>
                    <th scope="col" class="number">
                      B − A
                    </th>
                    <th scope="col">Traces</th>
                  </tr>
                </thead>
                <tbody>
                  {rows.map((row) => (
                    <TaskPair key={row.id} row={row} threshold={threshold} aModel={a_model} bModel={b_model} />
                  ))}
                </tbody>
              </table>
            </section>
          )}
          {matched > rows.length ? (
            <p>
              <button type="button" class="button" onClick={() => setPages(pages + 1)}>
                {`Show more of ${grouped(matched)}`}
              </button>
            </p>
          ) : null}
        </>
      )}
    </Loaded>
  );
}

function TaskPair({
  row,
  threshold,
  aModel,
  bModel,
}: {
  readonly row: ComparedTask;
  readonly threshold: number;
  readonly aModel: string;
  readonly bModel: string;
}) {
  const traces = [traceOf(row.a, -row.difference), traceOf(row.b, row.difference)].filter((id) => id !== undefined);
  return (
    <tr>
      <th scope="row" class="compared-id">
        {row.id}
      </th>
      <td>
        <Group group={row.a} threshold={threshold} model={aModel} />
      </td>
      <td>
        <Group group={row.b} threshold={threshold} model={bModel} />
      </td>
      <td class={`number reward ${row.difference > 0 ? 'full' : row.difference < 0 ? 'zero' : 'none'}`}>
        {signedText(row.difference)}
      </td>
      <td class="side-by-side">{traces.length < 2 ? null : <a href={comparePath(traces)}>side by side</a>}</td>
    </tr>
  );
}

/** The attempt that shows the difference best: the highest reward of the better side, the lowest of the other. */
function traceOf({ traces = [], rewards = [] }: CellGroup, advantage: number): string | undefined {
  let best: { readonly trace: string; readonly reward: number } | undefined;
  for (const [index, trace] of traces.entries()) {
    const reward = rewards[index];
    if (trace === null || reward === null || reward === undefined) continue;
    if (best === undefined || (reward - best.reward) * advantage > 0) best = { trace, reward };
  }
  return best?.trace;
}
