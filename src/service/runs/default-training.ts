import { createEvaluationStore } from '../../evaluation/evaluations/database-evaluation-store.ts';
import type { Models } from '../../models/gateway/create-model.ts';
import type { Database } from '../../store/database/database.ts';
import { RegisteredModels } from '../../store/models/registered-models.ts';
import type { RunQueue } from '../../store/queue/run-queue.ts';
import type { TraceStore } from '../../store/traces/trace-store.ts';
import { NO_REDACTION, type Redactor } from '../../support/redaction/redactor.ts';
import { type DeclaringCatalogue, declaredBy } from '../../training/dataset/declared-tasks.ts';
import { createTraining, type Training, type TrainingOptions } from '../../training/training.ts';

export interface DefaultTrainingOptions extends Partial<Pick<TrainingOptions, 'trainers' | 'gateways' | 'now'>> {
  /**
   * Project directory; `.proctor/training` in it holds datasets and outputs of jobs. Default: the working directory.
   */
  readonly directory?: string;
  readonly database: Database;
  readonly store: TraceStore;
  readonly queue: RunQueue;
  readonly models: Models;
  readonly appUrl: string;
  readonly redactor?: Redactor;
  /** Tasks that scenarios declare, for traces outside of evaluations, and the defaults of their arguments. */
  readonly catalogue: DeclaringCatalogue;
}

/** Creates the training of a service from its parts. */
export function createDefaultTraining(options: DefaultTrainingOptions): Training {
  const { database, store, queue, models, appUrl, catalogue, now, redactor = NO_REDACTION } = options;
  const canPrice: Models['canPrice'] = (model) => models.canPrice(model);
  return createTraining({
    database,
    models,
    appUrl,
    now,
    directory: options.directory ?? process.cwd(),
    trainers: options.trainers ?? {},
    gateways: options.gateways ?? [],
    registered: new RegisteredModels(database),
    evaluations: createEvaluationStore({ database, store, queue, appUrl, canPrice, now }),
    datasets: {
      database,
      traces: store,
      redactor,
      ...declaredBy(catalogue),
    },
  });
}
