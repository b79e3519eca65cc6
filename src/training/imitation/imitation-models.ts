import { lazyModel } from '../../models/gateway/lazy-model.ts';
import type { ServedModels } from '../../models/gateway/model-config.ts';
import type { Database } from '../../store/database/database.ts';
import type { Learned } from './imitation-model.ts';

const NAME = /^proctor\/imitation:[0-9a-f]{64}(?:-[0-9a-f]{8})?$/;
/** Largest number of models in memory. */
const MAX_LOADED = 4;

/** True for a name in the form of `proctor/imitation`. The model may not exist. */
function isImitationName(name: string): boolean {
  return NAME.test(name);
}

/** The models of `proctor/imitation`, which any process of the database can play. It holds no resources. */
export function createImitationModels({ kysely }: Pick<Database, 'kysely'>): ServedModels {
  const loaded = new Map<string, Promise<Learned>>();
  const load = (name: string) => {
    const known = loaded.get(name);
    if (known !== undefined) return known;
    const loading = import('./imitation-model.ts').then(({ readLearned }) => readLearned(kysely, name));
    loaded.set(name, loading);
    // A failed load is forgotten, because the model may be created later.
    loading.catch(() => loaded.delete(name));
    for (const first of loaded.keys()) if (loaded.size > MAX_LOADED) loaded.delete(first);
    return loading;
  };
  return {
    has: isImitationName,
    create: (name, _context, createOther, guard) =>
      lazyModel(name, async () => {
        const { ImitationModel } = await import('./imitation-model.ts');
        return new ImitationModel(
          name,
          () => load(name),
          (base) => createOther(base, guard),
        );
      }),
  };
}
