import type { Comparison, ComparisonList } from '../../../contract/service/evaluation.ts';
import { countText, differenceText } from '../../../support/text/figures.ts';
import { service } from '../api.ts';
import { Empty, Loaded } from '../components/states.tsx';
import { usePageTitle } from '../use-page-title.ts';
import { useResource } from '../use-resource.ts';
import { ComparedTasks } from './compared-tasks.tsx';
import { ComparisonFigures } from './comparison-figures.tsx';
import { verdictOf } from './comparison-verdict.ts';
import { withChoices } from './evaluation-paths.ts';
import { type Domain, IntervalBar, toDomain } from './interval-bar.tsx';
import { GradesLinks, gradesOf } from './matrix/grades-choice.tsx';

/** Two evaluations, or two models of one, on the tasks that both have. */
export function CompareEvaluationsPage({ query }: { readonly query: URLSearchParams }) {
  usePageTitle('Compare evaluations');
  const [a, b] = [query.get('a') ?? '', query.get('b') ?? ''];
  const [aModel, bModel] = [query.get('a_model'), query.get('b_model')];
  const { resource, reload } = useResource(
    async (signal) => {
      const models = { ...(aModel && { a_model: aModel }), ...(bModel && { b_model: bModel }) };
      const [compared, one, other] = await Promise.all([
        service.evaluations.compare({ a, b, ...models, ...gradesOf(query) }, { signal }),
        readName(a, signal),
        a === b ? undefined : readName(b, signal),
      ]);
      return { compared, names: { a: one, b: other ?? one } };
    },
    [a, b, aModel, bModel, query.get('grades')],
  );
  if (a === '' || b === '') return <NothingNamed />;
  return (
    <div class="page compare-evaluations">
      <Loaded resource={resource} retry={reload}>
        {({ compared, names }) => <Compared compared={compared} names={names} query={query} />}
      </Loaded>
    </div>
  );
}

async function readName(id: string, signal: AbortSignal): Promise<string> {
  const { name, taskset } = await service.evaluations.get(id, { signal });
  return name ?? taskset.name ?? id.slice(0, 13);
}

function NothingNamed() {
  return (
    <Empty title="A comparison needs two evaluations">
      <p>
        <a href="/evaluations">Select two in the list</a>, or two models on the page of one.
      </p>
    </Empty>
  );
}

export interface SideNames {
  readonly a: string;
  readonly b: string;
}

interface ComparedProps {
  readonly compared: ComparisonList;
  readonly names: SideNames;
  readonly query: URLSearchParams;
}

function Compared({ compared, names, query }: ComparedProps) {
  const { comparisons, warnings } = compared;
  const chosen = Math.max(1, Number(query.get('pair') ?? '1') || 1);
  const comparison = comparisons[chosen - 1] ?? comparisons[0];
  const grades = gradesOf(query).grades === undefined ? '' : '?grades=current';
  const domain = toDomain(
    comparisons.flatMap(({ ci95, difference }) => [...(ci95 ?? []), difference]),
    [0],
  );
  return (
    <>
      <p class="compared-names">
        <a href={`/evaluations/${compared.b}${grades}`}>{names.b}</a> <span class="letter">B</span>
        <span class="quiet"> compared with </span>
        <a href={`/evaluations/${compared.a}${grades}`}>{names.a}</a> <span class="letter">A</span>
      </p>
      {comparison === undefined ? (
        <Empty title="They have no model in common" />
      ) : (
        <>
          <h1>{verdictOf(comparison)}</h1>
          {query.has('grades') ? <GradesLinks query={query} /> : null}
          {warnings.map((warning) => (
            <p key={warning} class="evaluation-warning">
              {warning}
            </p>
          ))}
          {comparisons.length > 1 ? (
            <PairList comparisons={comparisons} domain={domain} query={query} shown={comparison} />
          ) : (
            <DifferenceBar comparison={comparison} domain={domain} />
          )}
          <ComparisonFigures comparison={comparison} isOneOfMany={comparisons.length > 1} />
          <ComparedTasks
            key={`${comparison.a_model} ${comparison.b_model} ${query.get('grades')}`}
            compared={compared}
            comparison={comparison}
            query={query}
          />
        </>
      )}
    </>
  );
}

function toneOf({ ci95, difference }: Comparison): 'plain' | 'good' | 'bad' {
  if (ci95 === null || difference === null || (ci95[0] <= 0 && ci95[1] >= 0)) return 'plain';
  return difference > 0 ? 'good' : 'bad';
}

function DifferenceBar({ comparison, domain }: { readonly comparison: Comparison; readonly domain: Domain }) {
  return (
    <figure class="difference-figure">
      <IntervalBar
        value={comparison.difference}
        interval={comparison.ci95}
        domain={domain}
        marks={[0]}
        tone={toneOf(comparison)}
      />
      <figcaption class="difference-caption quiet">
        <span>← A is better</span>
        <span>{`difference of the means, B − A, with its 95 % interval`}</span>
        <span>B is better →</span>
      </figcaption>
    </figure>
  );
}

/** All pairs of models on one scale; one of them is shown below. */
function PairList({
  comparisons,
  shown,
  domain,
  query,
}: {
  readonly comparisons: readonly Comparison[];
  readonly shown: Comparison;
  readonly domain: Domain;
  readonly query: URLSearchParams;
}) {
  return (
    <>
      <p class="quiet pair-note">{`${countText(comparisons.length, 'pair')} of models; the line is 0, to the right of it B is better.`}</p>
      <ol class="report-list pair-list" aria-label="Differences by model">
        {comparisons.map((each, index) => (
          <li key={index}>
            <a
              class="report-model"
              href={withChoices(query, { pair: index === 0 ? '' : String(index + 1) })}
              aria-current={each === shown ? 'true' : undefined}
            >
              {each.a_model === each.b_model ? each.a_model : `${each.b_model} and ${each.a_model}`}
            </a>
            <IntervalBar value={each.difference} interval={each.ci95} domain={domain} marks={[0]} tone={toneOf(each)} />
            <span class="report-words">
              <b>{differenceText(each.difference, each.ci95)}</b>
              <span class="quiet report-missing">{`${each.won_count} won, ${each.lost_count} lost`}</span>
            </span>
          </li>
        ))}
      </ol>
    </>
  );
}
