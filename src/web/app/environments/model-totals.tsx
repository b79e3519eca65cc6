import type { TraceTotals } from '../../../contract/service/totals.ts';
import { countText, grouped, rewardText } from '../../../support/text/figures.ts';
import { isReferenceModel } from './reference-model.ts';

type Group = NonNullable<TraceTotals['groups']>[number];

/** Models of one kind that are told; the list of runs has all. */
const MOST = 6;

interface Props {
  readonly groups: readonly Group[];
  /** Those of the list of runs that all of these are of. */
  readonly filters: Readonly<Record<string, string>>;
}

/** Totals of each model. Reference models stand apart: they know the solution, or try nothing. */
export function ModelTotals({ groups, filters }: Props) {
  const kinds = [
    { title: 'Models', of: groups.filter(({ group }) => !isReferenceModel(group)) },
    { title: 'Reference models', of: groups.filter(({ group }) => isReferenceModel(group)) },
  ];
  return (
    <div class="model-totals">
      {kinds.map(({ title, of }) =>
        of.length === 0 ? null : (
          <table key={title} class={title === 'Models' ? '' : 'quiet'}>
            <caption>{title}</caption>
            <tbody>
              {of.slice(0, MOST).map((group) => (
                <ModelRow key={group.group} group={group} filters={filters} />
              ))}
            </tbody>
            {of.length > MOST ? (
              <tfoot>
                <tr>
                  <td colSpan={4}>
                    <a href={`/?${new URLSearchParams(filters)}`}>{`and ${grouped(of.length - MOST)} more`}</a>
                  </td>
                </tr>
              </tfoot>
            ) : null}
          </table>
        ),
      )}
    </div>
  );
}

function ModelRow({ group, filters }: { readonly group: Group; readonly filters: Props['filters'] }) {
  const { group: model, count, with_reward, mean_reward, pass_rate } = group;
  const without = count - with_reward;
  return (
    <tr>
      <th class="model-name" scope="row">
        <a href={`/?${new URLSearchParams({ ...filters, model })}`}>{model}</a>
      </th>
      <td>{pass_rate === null ? 'no reward' : `${Math.round(pass_rate * 100)} % passed`}</td>
      <td>{mean_reward === null ? '' : `mean ${rewardText(mean_reward)}`}</td>
      <td>
        {countText(count, 'run')}
        {without === 0 ? null : <span class="quiet">{`, ${grouped(without)} without a reward`}</span>}
      </td>
    </tr>
  );
}
