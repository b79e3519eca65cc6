import type { Catalogue } from '../client/catalogue.ts';
import type { Database } from '../database/database.ts';
import { createEvaluationStore } from '../evaluations/database-evaluation-store.ts';
import type { Models } from '../model/create-model.ts';
import { RegisteredModels } from '../model/registered-models.ts';
import type { RunQueue } from '../queue/run-queue.ts';
import { NO_REDACTION, type Redactor } from '../redaction/redactor.ts';
import { loadDeclaredTasks } from '../tasks/find-tasksets.ts';
import type { TraceStore } from '../trace/trace-store.ts';
import { createTraining, type Training, type TrainingOptions } from '../training/training.ts';

export interface DefaultTrainingOptions extends Partial<Pick<TrainingOptions, 'trainers' | 'gateways' | 'now'>> {
  /** Its folder `.proctor/training` holds datasets and outputs of jobs. Default: that of the process. */
  readonly directory?: string;
  readonly database: Database;
  readonly store: TraceStore;
  readonly queue: RunQueue;
  readonly models: Models;
  readonly appUrl: string;
  readonly redactor?: Redactor;
  /** The tasks that scenarios declare, for traces outside of evaluations. */
  readonly catalogue: Pick<Catalogue, 'declaredTasks'>;
}

/** Training on the parts of a service. */
export function createDefaultTraining(options: DefaultTrainingOptions): Training {
  const { database, store, queue, models, appUrl, catalogue, now, redactor = NO_REDACTION } = options;
  const canPrice: Models['canPrice'] = (model) => models.canPrice(model);
  return createTraining({
    ...{ database, models, appUrl, now },
    directory: options.directory ?? process.cwd(),
    trainers: options.trainers ?? {},
    gateways: options.gateways ?? [],
    registered: new RegisteredModels(database),
    evaluations: createEvaluationStore({ database, store, queue, appUrl, canPrice, now }),
    datasets: {
      ...{ database, traces: store, redactor },
      declaredTasks: async (environment, scenario) => (await loadDeclaredTasks(catalogue, environment, scenario)).tasks,
    },
  });
}
