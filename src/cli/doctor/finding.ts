import { messageOf } from '../../contract/errors.ts';

/** What a check found. Only `fail` means that something does not work. */
export interface Finding {
  /** What was looked at: `store`, `environment counter`. */
  readonly name: string;
  readonly status: 'ok' | 'warn' | 'fail';
  /** One line: what is, and where it is not well, what to do. */
  readonly message: string;
  /** Lines of others that explain it, such as what an environment wrote before it ended. */
  readonly lines?: readonly string[];
  /** The figures behind the message, for machines. */
  readonly facts?: Readonly<Record<string, unknown>>;
}

/** What a check that throws, or takes longer than its limit, has found. */
export async function findWithin(
  name: string,
  limitMs: number,
  check: (signal: AbortSignal) => Promise<Finding>,
): Promise<Finding> {
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(new Error(`it took more than ${limitMs / 1_000} s`)), limitMs);
  const isOver = new Promise<never>((_, reject) => {
    limit.signal.addEventListener('abort', () => reject(limit.signal.reason), { once: true });
  });
  try {
    return await Promise.race([check(limit.signal), isOver]);
  } catch (thrown) {
    const [message = '', ...lines] = messageOf(thrown).split('\n');
    return { name, status: 'fail', message, ...(lines.length > 0 ? { lines } : {}) };
  } finally {
    clearTimeout(timer);
  }
}
