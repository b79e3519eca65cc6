import type { TotalsGroupBy, TraceTotals } from '../../../contract/service/totals.ts';
import { service } from '../api.ts';
import { useResource } from '../use-resource.ts';
import { CHOICES, NAME_FILTERS } from './run-filters.ts';

/** Filters whose values are chosen from a list. */
export const CHOSEN_FILTERS = [...NAME_FILTERS, 'status', 'origin'] as const;

export type FilterChoices = Readonly<Record<(typeof CHOSEN_FILTERS)[number], readonly string[]>>;

const NONE: FilterChoices = { env_name: [], scenario_name: [], model: [], status: [], origin: [] };

/** Names that runs have; scenarios and models are those of the chosen environment. Empty until loaded. */
export function useFilterChoices(envName: string | undefined): FilterChoices {
  const { resource } = useResource(
    async (signal): Promise<FilterChoices> => {
      const read = (group_by: TotalsGroupBy, filters = {}) =>
        service.traces.summary({ ...filters, group_by }, { signal });
      const ofEnvironment = envName === undefined ? {} : { env_name: envName };
      const [environments, scenarios, models, origins] = await Promise.all([
        read('env'),
        read('scenario', ofEnvironment),
        read('model', ofEnvironment),
        read('origin'),
      ]);
      return {
        env_name: namesOf(environments),
        scenario_name: namesOf(scenarios),
        model: namesOf(models),
        status: CHOICES.status.filter((status) => environments.by_status[status] > 0),
        origin: namesOf(origins),
      };
    },
    [envName],
  );
  return resource.state === 'ready' ? resource.value : NONE;
}

function namesOf({ groups = [] }: TraceTotals): readonly string[] {
  return groups.map(({ group }) => group).sort((one, other) => one.localeCompare(other));
}
