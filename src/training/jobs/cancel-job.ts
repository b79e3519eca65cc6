import type { ProviderReport } from '../providers/provider.ts';

import type { JobLease } from './job-lease.ts';
import { cancelProof } from './proof-step.ts';
import { keepReport, pollWaitMs, providerOf, takeTrained, workOf } from './provider-work.ts';
import type { StepParts } from './step-parts.ts';

/** Set once the provider has received the cancel request. */
const SENT = '_cancel_sent';
/** Milliseconds between polls after a cancel request. They are short, because users wait for the end. */
const ASK_AGAIN_MS = 5_000;

/**
 * Ends a cancelled job. If the provider has the job, it gets a cancel request and then reports the end. When the
 * request comes too late, the finished model is kept.
 */
export async function cancelJob(parts: StepParts, lease: JobLease, signal: AbortSignal): Promise<number> {
  const { job } = lease;
  switch (job.status) {
    case 'uploading': {
      const provider = providerOf(parts, job.request);
      // It may be unknown whether the provider received the last submission.
      if (await provider.find(await workOf(parts, lease, signal))) {
        await lease.write({ status: 'queued' });
        return 0;
      }
      return await end(lease, 'It was cancelled before the provider had it.');
    }
    case 'queued':
    case 'training':
      return await cancelAtProvider(parts, lease, signal);
    case 'deploying':
      return await end(lease, `The model ${job.result.target} is trained, and was not registered.`);
    case 'evaluating':
      await cancelProof(parts, job);
      return await end(lease, `The model ${job.request.name} is registered; its proof was cancelled.`);
    default:
      return await end(lease, 'It was cancelled before the provider had it.');
  }
}

async function cancelAtProvider(parts: StepParts, lease: JobLease, signal: AbortSignal): Promise<number> {
  const { request, status } = lease.job;
  const provider = providerOf(parts, request);
  const work = await workOf(parts, lease, signal);
  if (lease.job.remote[SENT] === undefined) {
    await provider.cancel(work);
    await work.keep({ [SENT]: new Date(parts.now()).toISOString() });
  }
  const report: ProviderReport = await provider.poll(work);
  switch (report.status) {
    case 'succeeded': {
      const message = `The cancel came too late: ${request.provider} had finished the model.`;
      await lease.write({
        isCancelRequested: false,
        events: [{ type: 'log', level: 'warning', message }],
        result: request.evaluate === null ? {} : { proofError: 'It was cancelled before the proof.' },
      });
      await takeTrained(lease, report, provider);
      return 0;
    }
    case 'failed':
    case 'cancelled':
      await keepReport(lease, report, status);
      return await end(lease, `${request.provider} has ended it.`);
    default:
      await keepReport(lease, report, report.status);
      return Math.min(ASK_AGAIN_MS, pollWaitMs(parts, lease.job));
  }
}

async function end(lease: JobLease, message: string): Promise<number> {
  await lease.write({ status: 'cancelled', message, result: { trouble: null } });
  return 0;
}
