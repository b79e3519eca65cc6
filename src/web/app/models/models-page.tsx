import type { RegisteredModel } from '../../../contract/model.ts';
import { grouped } from '../../../support/text/figures.ts';
import { formatTime } from '../../format.ts';
import { service } from '../api.ts';
import { Empty, Loaded } from '../components/states.tsx';
import { type Column, Table } from '../components/table.tsx';
import { usePageTitle } from '../use-page-title.ts';
import { useResource } from '../use-resource.ts';

const COLUMNS: readonly Column<RegisteredModel>[] = [
  { name: 'name', title: 'Name', cell: ({ name }) => <a href={`/models/${encodeURIComponent(name)}`}>{name}</a> },
  { name: 'target', title: 'Target', cell: (model) => <code>{meant(model)}</code> },
  { name: 'base', title: 'Trained from', cell: ({ base }) => (base === null ? '' : <code>{base}</code>) },
  {
    name: 'checkpoints',
    title: 'Checkpoints',
    isNumber: true,
    cell: ({ checkpoints }) => grouped(checkpoints.length),
  },
  { name: 'created', title: 'Registered', isExtra: true, cell: ({ created_at: at }) => `${formatTime(at)} UTC` },
];

/** The registered models of the account. */
export function ModelsPage() {
  usePageTitle('Models');
  const { resource, reload } = useResource((signal) => service.models.registered.list({ signal }), []);
  return (
    <div class="page">
      <h1>Models</h1>
      <Loaded resource={resource} retry={reload}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title="No registered models">
              <p class="quiet">A name for a model, with its checkpoints, is made by training, or by</p>
              <pre class="text mono">npx proctor models add my-model --target provider/model</pre>
            </Empty>
          ) : (
            <Table label="Registered models" columns={COLUMNS} rows={data} keyOf={({ name }) => name} />
          )
        }
      </Loaded>
    </div>
  );
}

/** The model that the bare name means. */
function meant({ head, target, checkpoints }: RegisteredModel): string {
  return checkpoints.find(({ step }) => step === head)?.target ?? target;
}
