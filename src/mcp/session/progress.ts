import type { ReportProgress } from '../../environment/definition.ts';

export interface ProgressNotification {
  readonly progressToken: string | number;
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

export interface Progress {
  readonly report: ReportProgress;
  /** Drops every further report; resolves when the reply may go out, which is at once where it gives nothing. */
  finish(): Promise<void> | undefined;
}

const DEFAULT_TOTAL = 100;

/** Progress of one request as the contract has it: integers that increase, never after the reply. */
export function createProgress(
  progressToken: string | number,
  send: (notification: ProgressNotification) => void,
): Progress {
  let last = Number.NEGATIVE_INFINITY;
  let isOpen = true;
  return {
    report(progress, total = DEFAULT_TOTAL, message) {
      const whole = Math.floor(progress);
      if (!isOpen || !Number.isFinite(whole) || whole <= last) return;
      last = whole;
      send({
        progressToken,
        progress: whole,
        ...(total === null ? {} : { total: Number.isFinite(total) ? Math.floor(total) : DEFAULT_TOTAL }),
        ...(message === undefined ? {} : { message: String(message) }),
      });
    },
    finish() {
      isOpen = false;
      // The SDK's client forgets whom progress is for as soon as it has the reply, and hands notifications on a little
      // later: those that arrive together with the reply would be lost.
      if (last === Number.NEGATIVE_INFINITY) return undefined;
      return new Promise((resolve) => setImmediate(resolve));
    },
  };
}
