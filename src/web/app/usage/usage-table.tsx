import type { UsageGroup } from '../../../contract/service/totals.ts';
import { grouped } from '../../../support/text/figures.ts';
import { type Column, Table } from '../components/table.tsx';
import { formatCompute } from './usage-totals.tsx';

/** One row for each group, with its share of the one that has used most. */
export function UsageTable({ title, groups }: { readonly title: string; readonly groups: readonly UsageGroup[] }) {
  const most = Math.max(1, ...groups.map(({ total_tokens }) => total_tokens));
  return <Table label="Usage" columns={columnsFor(title, most)} rows={groups} keyOf={({ group }) => group ?? ''} />;
}

function columnsFor(title: string, most: number): readonly Column<UsageGroup>[] {
  return [
    { name: 'group', title, cell: ({ group, key_name }) => key_name ?? group ?? 'without a key' },
    {
      name: 'total',
      title: 'Tokens',
      cell: ({ total_tokens: tokens }) => (
        <span class="usage-bar">
          <span class="usage-number">{grouped(tokens)}</span>
          <span class="usage-share" style={{ width: `${Math.round((tokens / most) * 100)}px` }} />
        </span>
      ),
    },
    { name: 'prompt', title: 'In', isNumber: true, isExtra: true, cell: (row) => grouped(row.prompt_tokens) },
    {
      name: 'completion',
      title: 'Out',
      isNumber: true,
      isExtra: true,
      cell: (row) => grouped(row.completion_tokens),
    },
    { name: 'runs', title: 'Runs', isNumber: true, cell: ({ runs }) => grouped(runs) },
    { name: 'calls', title: 'Model calls', isNumber: true, isExtra: true, cell: (row) => grouped(row.model_calls) },
    { name: 'compute', title: 'Compute', isNumber: true, cell: (row) => formatCompute(row.compute_seconds) },
  ];
}
