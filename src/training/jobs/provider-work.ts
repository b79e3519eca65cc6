import type { NewTrainingEvent } from '../../contract/service/training.ts';
import {
  ProviderRefused,
  type ProviderReport,
  type TrainingProvider,
  type TrainingWork,
} from '../providers/provider.ts';
import { openDataset } from './dataset-step.ts';
import type { JobLease } from './job-lease.ts';
import type { Job, StoredRequest } from './job-rows.ts';
import type { StepParts } from './step-parts.ts';

/** Time between polls: a tenth of the time that the job has been in its state, within these limits. */
const POLLING = { shortestMs: 5_000, longestMs: 60_000, part: 1 / 10 } as const;

/** @throws ProviderRefused provider_not_found for an unknown provider. */
export function providerOf({ providers }: StepParts, { provider: name }: StoredRequest): TrainingProvider {
  const provider = providers.find(name);
  if (provider !== undefined) return provider;
  const known = providers.all.map((each) => each.name).join(', ');
  throw new ProviderRefused(
    'provider_not_found',
    `The configuration of this service has no trainer ${JSON.stringify(name)} any more (there are ${known}): add it to "trainers", and start the job again.`,
  );
}

/** The job in the form for its provider. `keep` resolves once the names are in the database. */
export async function workOf(parts: StepParts, lease: JobLease, signal: AbortSignal): Promise<TrainingWork> {
  const { job } = lease;
  const provider = providerOf(parts, job.request);
  const dataset = await openDataset(parts, job, provider, signal);
  const { name, base_model, method, hyperparameters } = job.request;
  return {
    jobId: job.id,
    name,
    method,
    hyperparameters,
    signal,
    base: base_model.target,
    baseGateway: base_model.gateway,
    ...dataset,
    get remote() {
      return lease.job.remote;
    },
    async keep(names) {
      await lease.write({ remote: names });
    },
    async stillMine() {
      signal.throwIfAborted();
      await lease.renew();
      signal.throwIfAborted();
    },
  };
}

/** Records a provider's report about a running job. */
export async function keepReport(lease: JobLease, report: ProviderReport, status: Job['status']): Promise<void> {
  const { checkpoints = [], progress, events = [], remote } = report;
  const before = lease.job.result.checkpoints ?? [];
  const known = new Set(before.map(({ target }) => target));
  const added = checkpoints.filter(({ target }) => !known.has(target));
  const told: readonly NewTrainingEvent[] = added.map((checkpoint) => ({ type: 'checkpoint', checkpoint }));
  await lease.write({
    status,
    ...(remote === undefined ? {} : { remote }),
    result: {
      trouble: null,
      ...(progress === undefined ? {} : { progress }),
      ...(added.length === 0 ? {} : { checkpoints: [...before, ...added].sort((a, b) => a.step - b.step) }),
    },
    events: [...events, ...told],
  });
}

export function pollWaitMs(parts: StepParts, { statusSince, request }: Job): number {
  const shortestMs = parts.providers.find(request.provider)?.shortestPollMs ?? POLLING.shortestMs;
  return Math.min(POLLING.longestMs, Math.max(shortestMs, (parts.now() - statusSince) * POLLING.part));
}

/** Continues with a model that its provider has finished. */
export async function takeTrained(lease: JobLease, report: ProviderReport, provider: TrainingProvider): Promise<void> {
  const { target, gateway = provider.gateway ?? null } = report;
  await keepReport(lease, report, 'training');
  if (target === undefined) {
    throw new ProviderRefused(
      'model_missing',
      `${provider.name} says that the job succeeded, and names no model. Look at the job there; if it has a model, register it with "proctor models add", else start the job again.`,
    );
  }
  await lease.write({ status: 'deploying', result: { target, gateway } });
}
