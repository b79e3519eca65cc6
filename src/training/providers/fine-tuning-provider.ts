import type { TrainingProvider, TrainingWork } from './provider.ts';
import { askProvider, type ProviderAddress, type ProviderRequest } from './provider-http.ts';

export interface FineTuningOptions extends ProviderAddress {
  readonly gateway: string | undefined;
  readonly deploy?: TrainingProvider['deploy'] | undefined;
}

/** The part of a provider's wire that differs: its files, its jobs, and the words of its reports. */
export interface FineTuningWire
  extends Pick<TrainingProvider, 'kind' | 'methods' | 'minimumLines' | 'maximumBytes' | 'format' | 'poll'> {
  /** Keeps the id of the file, and does nothing where it is kept already. */
  uploadFile(work: TrainingWork, part: 'train' | 'validation', path: string): Promise<void>;
  /** Its id, if the provider has a job of ours. */
  findJob(work: TrainingWork): Promise<string | undefined>;
  /** @returns its id. @throws ProviderRefused */
  createJob(work: TrainingWork): Promise<string>;
  /** The `POST` that cancels a job. */
  toCancel(work: TrainingWork): Pick<ProviderRequest, 'path' | 'json'>;
}

/** A provider that has files and fine-tuning jobs behind HTTP. A job is looked for before it is made. */
export function createFineTuningProvider(options: FineTuningOptions, wire: FineTuningWire): TrainingProvider {
  const { kind, methods, minimumLines, maximumBytes, format, poll } = wire;
  return {
    name: options.name,
    ...{ kind, methods, minimumLines, maximumBytes, format, poll },
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
      // A refusal says that it has ended: the next poll tells how.
      const allowed = [400, 404, 409, 422];
      await askProvider(options, { method: 'POST', ...wire.toCancel(work), signal: work.signal, allowed });
    },
    ...(options.deploy === undefined ? {} : { deploy: options.deploy }),
  };
}
