import type { UsageGroup, UsageGroupBy } from '../../../contract/service/totals.ts';
import { service } from '../api.ts';
import { Empty, Loaded } from '../components/states.tsx';
import { usePageTitle } from '../use-page-title.ts';
import { useResource } from '../use-resource.ts';
import { toDays, toSince, USAGE_DAYS, type UsageDays } from './usage-days.ts';
import { UsageTable } from './usage-table.tsx';
import { UsageTotals } from './usage-totals.tsx';

const GROUPS: Readonly<Record<UsageGroupBy, string>> = {
  day: 'Day (UTC)',
  model: 'Model',
  env: 'Environment',
  key: 'API key',
};
const GROUP_NAMES = ['day', 'model', 'env', 'key'] as const;

/** Usage of the account's runs, by the group and time of the address. */
export function UsagePage({ query }: { readonly query: URLSearchParams }) {
  usePageTitle('Usage');
  const groupBy = GROUP_NAMES.find((each) => each === query.get('by')) ?? 'day';
  const days = toDays(query.get('days'));
  const since = toSince(days, Date.now());
  const { resource, reload } = useResource(
    (signal) => service.usage({ group_by: groupBy, ...(since === undefined ? {} : { since }) }, { signal }),
    [groupBy, since],
  );
  return (
    <div class="page usage">
      <h1>Usage</h1>
      <div class="usage-choices">
        <nav class="choice-links" aria-label="Group by">
          {GROUP_NAMES.map((each) => (
            <a key={each} href={toHref(each, days)} aria-current={each === groupBy ? 'true' : undefined}>
              {GROUPS[each]}
            </a>
          ))}
        </nav>
        <nav class="choice-links" aria-label="Since when">
          {USAGE_DAYS.map((each) => (
            <a key={each} href={toHref(groupBy, each)} aria-current={each === days ? 'true' : undefined}>
              {each === 'all' ? 'All time' : `${each} days`}
            </a>
          ))}
        </nav>
      </div>
      <Loaded resource={resource} retry={reload}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title="Nothing was used">
              <p class="quiet">What a run has used is counted once it has ended.</p>
            </Empty>
          ) : (
            <>
              <UsageTotals groups={data} />
              <UsageTable title={GROUPS[groupBy]} groups={inOrder(data, groupBy)} />
            </>
          )
        }
      </Loaded>
    </div>
  );
}

/** Days come oldest first: what one looks for is the end of it. Of the others it is what has used most. */
function inOrder(groups: readonly UsageGroup[], groupBy: UsageGroupBy): readonly UsageGroup[] {
  return groupBy === 'day' ? groups.toReversed() : groups.toSorted((a, b) => b.total_tokens - a.total_tokens);
}

function toHref(groupBy: UsageGroupBy, days: UsageDays): string {
  return `/usage?${new URLSearchParams({ by: groupBy, days })}`;
}
