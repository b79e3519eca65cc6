import { ProviderRefused } from '../providers/provider.ts';
import { cancelJob } from './cancel-job.ts';
import { checkDataset, describeSteps, openDataset } from './dataset-step.ts';
import type { JobLease } from './job-lease.ts';
import { prove } from './proof-step.ts';
import { keepReport, pollWaitMs, providerOf, takeTrained, workOf } from './provider-work.ts';
import type { StepParts } from './step-parts.ts';

const WARN_QUEUED_MS = 6 * 60 * 60 * 1_000;
const DEPLOY_TIMEOUT_MS = 30 * 60_000;

/**
 * Runs and records the next step of a job.
 *
 * @returns milliseconds to wait before the next step; 0 for no wait.
 * @throws ProviderRefused, ApiError: the job fails. ProviderAway: the same step is tried again.
 */
export async function advance(parts: StepParts, lease: JobLease, signal: AbortSignal): Promise<number> {
  const { job } = lease;
  if (job.isCancelRequested) return await cancelJob(parts, lease, signal);
  switch (job.status) {
    case 'building':
      return await build(parts, lease, signal);
    case 'validating':
      checkDataset(job, providerOf(parts, job.request));
      await lease.write({ status: 'uploading' });
      return 0;
    case 'uploading':
      return await submit(parts, lease, signal);
    case 'queued':
    case 'training':
      return await follow(parts, lease, signal);
    case 'deploying':
      return await deploy(parts, lease, signal);
    case 'evaluating':
      return await prove(parts, lease);
    default:
      return 0;
  }
}

async function build(parts: StepParts, lease: JobLease, signal: AbortSignal): Promise<number> {
  const { job } = lease;
  const provider = providerOf(parts, job.request);
  const { manifest } = await openDataset(parts, job, provider, signal);
  const message = describeSteps(manifest);
  await lease.write({
    status: 'validating',
    dataset: manifest,
    result: { trouble: null },
    events: [{ type: 'log', level: 'info', message }],
  });
  return 0;
}

async function submit(parts: StepParts, lease: JobLease, signal: AbortSignal): Promise<number> {
  const provider = providerOf(parts, lease.job.request);
  const work = await workOf(parts, lease, signal);
  await provider.upload(work);
  await provider.submit(work);
  await lease.write({ status: 'queued', result: { trouble: null } });
  return 0;
}

async function follow(parts: StepParts, lease: JobLease, signal: AbortSignal): Promise<number> {
  const { job } = lease;
  const provider = providerOf(parts, job.request);
  const report = await provider.poll(await workOf(parts, lease, signal));
  switch (report.status) {
    case 'succeeded':
      await takeTrained(lease, report, provider);
      return 0;
    case 'failed':
      await keepReport(lease, report, job.status);
      throw new ProviderRefused(
        report.error?.code ?? 'provider_failed',
        report.error?.message ?? `${job.request.provider} says that the job failed, and not why: look at it there.`,
      );
    case 'cancelled': {
      await keepReport(lease, report, job.status);
      await lease.write({ status: 'cancelled', message: `It was cancelled at ${job.request.provider}.` });
      return 0;
    }
    default: {
      await keepReport(lease, report, report.status);
      await warnOfLongWait(parts, lease);
      return pollWaitMs(parts, lease.job);
    }
  }
}

async function warnOfLongWait({ now }: StepParts, lease: JobLease): Promise<void> {
  const { status, statusSince, result, request } = lease.job;
  if (status !== 'queued' || result.warned === true || now() - statusSince < WARN_QUEUED_MS) return;
  const message = `${request.provider} has kept the job in its queue for 6 hours. It goes on waiting; "proctor train cancel" ends it.`;
  await lease.write({ result: { warned: true }, events: [{ type: 'log', level: 'warning', message }] });
}

async function deploy(parts: StepParts, lease: JobLease, signal: AbortSignal): Promise<number> {
  const { job } = lease;
  const provider = providerOf(parts, job.request);
  const { target = '', gateway = null } = job.result;
  const limitMs = parts.deployTimeoutMs ?? DEPLOY_TIMEOUT_MS;
  let served = target;
  let reason: string;
  try {
    const deployment = await provider.deploy?.(await workOf(parts, lease, signal), target);
    served = deployment?.target ?? target;
    if (deployment?.isReady === false) reason = `${job.request.provider} is still making it ready.`;
    else {
      await parts.tryModel(served, gateway, signal);
      return await finishDeploy(parts, lease, served);
    }
  } catch (error) {
    if (signal.aborted || error instanceof ProviderRefused || !(error instanceof Error)) throw error;
    reason = error.message;
  }
  if (parts.now() - job.statusSince >= limitMs) {
    throw new ProviderRefused(
      'deploy_timeout',
      `The model ${served} is trained, and did not answer within ${Math.round(limitMs / 60_000)} min. The last answer: ${reason} When it answers, register it: proctor models add ${job.request.name} --target ${served} --base ${job.request.base}`,
    );
  }
  const trouble = { since: job.result.trouble?.since ?? parts.now(), message: reason };
  await lease.write({ result: { trouble } });
  return pollWaitMs(parts, job);
}

/** Registers the model under its name, once it answers. */
async function finishDeploy(parts: StepParts, lease: JobLease, target: string): Promise<number> {
  const { id, account, request, result } = lease.job;
  const { gateway = null, checkpoints = [] } = result;
  const hasProof = request.evaluate !== null && result.proofError === undefined;
  await lease.write({
    status: hasProof ? 'evaluating' : 'succeeded',
    message: `${request.name} answers.`,
    result: { target, trouble: null },
    inTransaction: (transaction) =>
      parts.register(transaction, {
        account,
        target,
        gateway,
        checkpoints,
        name: request.name,
        base: request.base,
        jobId: id,
      }),
  });
  return 0;
}
