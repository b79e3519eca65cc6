import type { EvaluationStore } from '../../evaluations/evaluation-store.ts';
import type { EvaluationsClient } from '../../service-client/evaluations-client.ts';
import { everyItem } from '../../service-client/requests.ts';
import { parseMoment } from '../traces/moments.ts';

/** Everything that a command does with evaluations but begin one, which differs by place. */
export type EvaluationsReader = Omit<EvaluationsClient, 'create'>;

/** The command line acts for this account. */
export const LOCAL = 'local';

/** The evaluations of a database, as a client of a service would have them. */
export function createLocalEvaluations(store: EvaluationStore): EvaluationsReader {
  const get: EvaluationsReader['get'] = async (id, { signal, waitSeconds, grades } = {}) => {
    const never = new AbortController().signal;
    if (waitSeconds !== undefined) {
      await store.waitForEnd(LOCAL, id, { seconds: waitSeconds, signal: signal ?? never });
    }
    return await store.get(LOCAL, id, { grades });
  };
  const list: EvaluationsReader['list'] = ({ since, until, ...query } = {}) =>
    store.list(LOCAL, {
      ...query,
      ...(since === undefined ? {} : { since: parseMoment(since) }),
      ...(until === undefined ? {} : { until: parseMoment(until) }),
    });
  const attempts: EvaluationsReader['attempts'] = (id, query) => store.attempts(LOCAL, id, query);
  const tasks: EvaluationsReader['tasks'] = (id, query) => store.tasks(LOCAL, id, query);
  const changed = async (id: string, change: Promise<void>) => {
    await change;
    return await store.get(LOCAL, id);
  };
  return {
    get,
    list,
    all: (query = {}) => everyItem(query, (page) => list(page)),
    attempts,
    allAttempts: (id, query = {}) => everyItem(query, (page) => attempts(id, page)),
    tasks,
    allTasks: (id, query = {}) => everyItem(query, (page) => tasks(id, page)),
    pause: (id) => changed(id, store.pause(LOCAL, id)),
    resume: (id) => changed(id, store.resume(LOCAL, id)),
    cancel: (id) => changed(id, store.cancel(LOCAL, id)),
    rerun: (id, outcomes) => changed(id, store.rerun(LOCAL, id, outcomes)),
    update: (id, patch) => changed(id, store.patch(LOCAL, id, patch)),
    delete: (id, options) => store.remove(LOCAL, id, options),
    compare: (query) => store.compare(LOCAL, query),
  };
}
