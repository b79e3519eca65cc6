import type { TrainingProvider, TrainingWork } from './provider.ts';
import { askProvider, type ProviderAddress, type ProviderRequest } from './provider-http.ts';

export interface FineTuningOptions extends ProviderAddress {
  readonly gateway: string | undefined;
  readonly deploy?: TrainingProvider['deploy'] | undefined;
}

/** The parts of a fine-tuning API that differ between providers: files, jobs and reports. */
export interface FineTuningWire
  extends Pick<TrainingProvider, 'kind' | 'methods' | 'minimumLines' | 'maximumBytes' | 'format' | 'poll'> {
  /** Uploads a file and stores its id. It does nothing when the id is already stored. */
  uploadFile(work: TrainingWork, part: 'train' | 'validation', path: string): Promise<void>;
  /** The id of this job at the provider; undefined when the provider does not have it. */
  findJob(work: TrainingWork): Promise<string | undefined>;
  /** @returns the id of the new job. @throws ProviderRefused */
  createJob(work: TrainingWork): Promise<string>;
  /** The `POST` request that cancels a job. */
  toCancel(work: TrainingWork): Pick<ProviderRequest, 'path' | 'json'>;
}

/** Creates a provider with files and fine-tuning jobs over HTTP. It looks for an existing job before it creates one. */
export function createFineTuningProvider(options: FineTuningOptions, wire: FineTuningWire): TrainingProvider {
  const { kind, methods, minimumLines, maximumBytes, format, poll } = wire;
  return {
    name: options.name,
    kind,
    methods,
    minimumLines,
    maximumBytes,
    format,
    poll,
    gateway: options.gateway,
    async upload(work) {
      await wire.uploadFile(work, 'train', work.trainFile);
      if (work.validationFile !== undefined) await wire.uploadFile(work, 'validation', work.validationFile);
    },
    async submit(work) {
      const job = (await wire.findJob(work)) ?? (await wire.createJob(work));
      await work.keep({ job });
    },
    async find(work) {
      const job = work.remote.job ?? (await wire.findJob(work));
      if (job !== undefined) await work.keep({ job });
      return job !== undefined;
    },
    async cancel(work) {
      // A refusal means that the job has ended. The next poll reports how.
      const allowed = [400, 404, 409, 422];
      await askProvider(options, { method: 'POST', ...wire.toCancel(work), signal: work.signal, allowed });
    },
    ...(options.deploy === undefined ? {} : { deploy: options.deploy }),
  };
}
