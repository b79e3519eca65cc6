import { pino } from 'pino';
import { expect, onTestFinished } from 'vitest';
import { evaluationAcceptedSchema } from '../../../src/contract/service/evaluation.ts';
import {
  type TrainingEvent,
  type TrainingJob,
  trainingAcceptedSchema,
  trainingJobSchema,
} from '../../../src/contract/service/training.ts';
import type { TrainingStatus } from '../../../src/contract/service/training-states.ts';
import { createCatalogue } from '../../../src/environment/client/catalogue.ts';
import { createModels } from '../../../src/models/gateway/create-model.ts';
import type { ConfiguredGateway } from '../../../src/models/gateway/model-config.ts';
import { createDefaultTraining } from '../../../src/service/runs/default-training.ts';
import { createImitationModels } from '../../../src/training/imitation/imitation-models.ts';
import type { JobDriver } from '../../../src/training/jobs/job-driver.ts';
import type { TrainerConfig } from '../../../src/training/trainer-config.ts';
import {
  APP_URL,
  COUNTER,
  openParts,
  type Parts,
  startService,
  type TestService,
  temporaryDirectory,
} from '../../service/runs/service.ts';
import { until } from '../../until.ts';

export interface TrainingService {
  readonly service: TestService;
  readonly directory: string;
  /** Successful runs of 24 tasks. */
  readonly evaluationId: string;
  /** Milliseconds since 1970, as its jobs see them. */
  clock: number;
  /** Lets time go by, and has somebody look. */
  pass(ms: number): void;
  begin(body?: object, headers?: Readonly<Record<string, string>>): Promise<string>;
  job(jobId: string): Promise<TrainingJob>;
  /** The job once it has this status; time goes by meanwhile. @throws with the job where it ends otherwise. */
  reaches(jobId: string, status: TrainingStatus): Promise<TrainingJob>;
  events(jobId: string): Promise<readonly TrainingEvent[]>;
  drive(): JobDriver;
}

export interface TrainingServiceOptions {
  readonly trainers?: Readonly<Record<string, TrainerConfig>>;
  readonly gateways?: readonly ConfiguredGateway[];
  readonly parts?: Parts;
  readonly directory?: string;
  /** False: nobody works on jobs until `drive`. */
  readonly isDriven?: boolean;
}

export async function startTrainingService(options: TrainingServiceOptions = {}): Promise<TrainingService> {
  const { trainers = {}, gateways = [], parts = await openParts(), directory = temporaryDirectory() } = options;
  const models = createModels({ gateways }).serving(createImitationModels(parts.database));
  const environments = new Map([['counter', COUNTER]]);
  const catalogue = createCatalogue(environments);
  onTestFinished(() => catalogue.close());
  const training = createDefaultTraining({
    ...parts,
    ...{ directory, models, trainers, gateways, catalogue, appUrl: APP_URL, now: () => started.clock },
  });
  const drivers: JobDriver[] = [];
  const drive = () => {
    const driver = training.drive(pino({ level: 'silent' }));
    onTestFinished(() => driver.stop());
    drivers.push(driver);
    return driver;
  };
  // The service's worker plays runs; jobs are worked on by drivers that a test can wake.
  const service = await startService({
    ...{ parts, models, environments, directory },
    training: async () => ({ ...training, drive: () => ({ wake() {}, stop: async () => {} }) }),
  });
  if (options.isDriven !== false) drive();
  const job = async (id: string) => trainingJobSchema.parse((await service.request(`/v1/training/jobs/${id}`)).json);
  const evaluationId = await evaluate(service);
  const started: TrainingService = {
    ...{ service, directory, evaluationId, clock: Date.now(), job, drive },
    pass(ms) {
      started.clock += ms;
      for (const driver of drivers) driver.wake();
    },
    async begin(body = {}, headers = {}) {
      const reply = await service.request('/v1/training/jobs', {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ ...REQUEST, from: { evaluations: [evaluationId] }, ...body }),
      });
      expect(reply.status, reply.text).toBe(200);
      return trainingAcceptedSchema.parse(reply.json).job_id;
    },
    async reaches(jobId, status) {
      const found = await until(async () => {
        const now = await job(jobId);
        if (now.status === status || ['failed', 'cancelled', 'succeeded'].includes(now.status)) return now;
        started.pass(6_000);
        return false;
      });
      expect(found.status, JSON.stringify(found.error)).toBe(status);
      return found;
    },
    async events(jobId) {
      return await training.jobs.events('local', jobId, { after: 0, limit: 1_000 });
    },
  };
  return started;
}

const REQUEST = {
  name: 'better',
  base: 'base-1',
  provider: 'lab',
  select: { include_reference: true, validation: 0 },
} as const;

async function evaluate(service: TestService): Promise<string> {
  const tasks = Array.from({ length: 24 }, (_, index) => ({
    ...{ id: `count-${index}`, env: 'counter', scenario: 'count_to', args: { target: 5 + index } },
  }));
  const { json } = await service.request('/v1/evaluations', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ tasks, models: ['proctor/oracle'] }),
  });
  const { evaluation_id } = evaluationAcceptedSchema.parse(json);
  await service.request(`/v1/evaluations/${evaluation_id}?wait=25`);
  return evaluation_id;
}
