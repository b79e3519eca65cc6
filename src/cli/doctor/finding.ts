import { messageOf } from '../../contract/errors.ts';
import { withDeadline } from '../../runtime/deadline.ts';

/** The result of a check. Only `fail` means that something does not work. */
export interface Finding {
  /** The part that was checked: `store`, `environment counter`. */
  readonly name: string;
  readonly status: 'ok' | 'warn' | 'fail';
  /** One line: what is, and where it is not well, what to do. */
  readonly message: string;
  /** Lines of others that explain it, such as what an environment wrote before it ended. */
  readonly lines?: readonly string[];
  /** The figures behind the message, for machines. */
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
