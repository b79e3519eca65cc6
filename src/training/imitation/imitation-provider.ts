import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { messageOf } from '../../contract/errors.ts';
import { IMITATION_PROVIDER } from '../../contract/service/training-states.ts';
import type { Database } from '../../store/database/database.ts';
import { ProviderRefused, type TrainingProvider, type TrainingWork } from '../providers/provider.ts';
import { toLessons } from './imitation-model.ts';

/** Largest dataset in bytes. A model in use has it in memory. */
const MAX_BYTES = 32 * 1024 * 1024;

/**
 * The trainer that is always available. Its models store the conversations of the dataset and repeat the nearest one.
 * It needs no key and no network, so that training can be tried, tested and demonstrated. Its results do not predict
 * those of a real model.
 */
export function createImitationProvider(database: Database): TrainingProvider {
  return {
    name: IMITATION_PROVIDER,
    kind: 'imitation',
    methods: ['supervised'],
    minimumLines: 1,
    maximumBytes: MAX_BYTES,
    format: () => 'openai',
    async upload() {},
    async submit(work) {
      const lines = await readFile(work.trainFile, 'utf8');
      const learned = countLessons(lines);
      await work.stillMine();
      const job = await keepModel(database, work, lines, learned);
      await work.keep({ job, _lines: String(learned) });
    },
    // With a job id the model exists. Without one there is nothing to end.
    find: async ({ remote }) => remote.job !== undefined,
    async poll({ remote }) {
      const done = Number(remote._lines ?? 0);
      return {
        status: 'succeeded',
        target: remote.job,
        progress: { done, total: done },
        events: [{ type: 'log', level: 'info', message: `It keeps ${done} conversations.` }],
      };
    },
    async cancel() {},
  };
}

function countLessons(lines: string): number {
  try {
    return toLessons(lines).length;
  } catch (error) {
    throw new ProviderRefused('file_refused', `A line of the dataset is no JSON: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

/** Stores a model. Models of one dataset with different bases get different names. */
async function keepModel(database: Database, work: TrainingWork, lines: string, count: number): Promise<string> {
  const plain = `${IMITATION_PROVIDER}:${work.datasetHash}`;
  const other = `${plain}-${createHash('sha256')
    .update(JSON.stringify([work.base, work.baseGateway]))
    .digest('hex')
    .slice(0, 8)}`;
  return await database.transaction(
    async (transaction) => {
      const known = await transaction
        .selectFrom('imitation_models')
        .select(['name', 'base', 'base_gateway'])
        .where('name', 'in', [plain, other])
        .execute();
      const found = known.find((row) => row.base === work.base && row.base_gateway === work.baseGateway);
      if (found !== undefined) return found.name;
      const name = known.some((row) => row.name === plain) ? other : plain;
      await transaction
        .insertInto('imitation_models')
        .values({
          name,
          base: work.base,
          base_gateway: work.baseGateway,
          lines: count,
          conversations: lines,
          created_at: Date.now(),
        })
        .execute();
      return name;
    },
    { locking: ['imitation_models'] },
  );
}
