import type { ReportProgress } from '../environment/definition.ts';

export interface ProgressNotification {
  readonly progressToken: string | number;
  readonly progress: number;
  readonly total: number;
  readonly message?: string;
}

export interface Progress {
  readonly report: ReportProgress;
  readonly hasSent: boolean;
  /** From here on reports are dropped: the reply goes out. */
  stop(): void;
}

const DEFAULT_TOTAL = 100;

/** Progress of one request as the contract has it: integers that increase, with a token alone, never after the reply. */
export function createProgress(token: unknown, send: (notification: ProgressNotification) => void): Progress {
  let last = Number.NEGATIVE_INFINITY;
  let isOpen = typeof token === 'string' || typeof token === 'number';
  return {
    report(progress, total = DEFAULT_TOTAL, message) {
      const whole = Math.floor(progress);
      if (!isOpen || !Number.isFinite(whole) || whole <= last) return;
      last = whole;
      send({
        progressToken: token as string | number,
        progress: whole,
        total: Number.isFinite(total) ? Math.floor(total) : DEFAULT_TOTAL,
        ...(message === undefined ? {} : { message: String(message) }),
      });
    },
    get hasSent() {
      return last !== Number.NEGATIVE_INFINITY;
    },
    stop() {
      isOpen = false;
    },
  };
}
