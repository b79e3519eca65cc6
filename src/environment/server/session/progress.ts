import type { ReportProgress } from '../../authoring/definition.ts';

export interface ProgressNotification {
  readonly progressToken: string | number;
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

export interface Progress {
  readonly report: ReportProgress;
  /**
   * Stops all further reports. Resolves when the reply may be sent. Undefined means at once, because there were no
   * reports.
   */
  finish(): Promise<void> | undefined;
}

const DEFAULT_TOTAL = 100;

/** Reports the progress of one request as the contract requires: increasing integers, and none after the reply. */
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
      // The SDK's client forgets a progress token as soon as it has the reply, but passes notifications on a little
      // later. Without this delay, reports that arrive together with the reply would be lost.
      if (last === Number.NEGATIVE_INFINITY) return undefined;
      return new Promise((resolve) => setImmediate(resolve));
    },
  };
}
