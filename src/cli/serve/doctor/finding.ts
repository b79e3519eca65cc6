import { messageOf } from '../../../contract/errors.ts';
import { withDeadline } from '../../../support/runtime/deadline.ts';

/** The result of a check. Only `fail` means that something does not work. */
export interface Finding {
  /** The part that was checked: `store`, `environment counter`. */
  readonly name: string;
  readonly status: 'ok' | 'warn' | 'fail';
  /** One line: the state, and advice if something is wrong. */
  readonly message: string;
  /** Explanatory output, such as the last lines of an environment that crashed. */
  readonly lines?: readonly string[];
  /** Figures of the message for programs. */
  readonly facts?: Readonly<Record<string, unknown>>;
}

/** Runs a check. One that throws or exceeds its limit has failed. */
export async function findWithin(
  name: string,
  limitMs: number,
  check: (signal: AbortSignal) => Promise<Finding>,
): Promise<Finding> {
  try {
    return await withDeadline(check, { ms: limitMs, toError: (limit) => new Error(`it took more than ${limit}`) });
  } catch (thrown) {
    const [message = '', ...lines] = messageOf(thrown).split('\n');
    return { name, status: 'fail', message, ...(lines.length > 0 ? { lines } : {}) };
  }
}
