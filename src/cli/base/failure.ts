import { inspect } from 'node:util';
import { ApiError, BoundaryError, messageOf } from '../../contract/errors.ts';
import { printableLines } from './terminal.ts';

/** The command was used wrongly: exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The command did its work, and the answer is no: it was printed already, but for a cause that kept a gate from judging. */
export class SilentFailure extends Error {
  override readonly name = 'SilentFailure';
  readonly exitCode: number;

  constructor(exitCode: number = EXIT.failure, cause?: unknown) {
    super(`exit code ${exitCode}`, cause === undefined ? undefined : { cause });
    this.exitCode = exitCode;
  }
}

export const EXIT = { failure: 1, usage: 2 } as const;

/** Codes of errors that the user's input causes, here or at a service. */
const USAGE_CODES: ReadonlySet<string> = new Set([
  'env_not_found',
  'scenario_not_found',
  'model_not_found',
  'taskset_not_found',
  'evaluation_not_found',
  'provider_not_found',
  'job_not_found',
  'held_out_task',
  'name_taken',
  'invalid_scenario_args',
  'invalid_parameter',
  'missing_required_parameter',
]);

export function exitCodeOf(thrown: unknown): number {
  if (thrown instanceof UsageError) return EXIT.usage;
  if (thrown instanceof SilentFailure) return thrown.exitCode;
  if (thrown instanceof Error && 'code' in thrown && USAGE_CODES.has(String(thrown.code))) return EXIT.usage;
  return EXIT.failure;
}

/**
 * Describes a failure in one message, with its root cause if the message lacks it. A stack appears only with
 * `PROCTOR_DEBUG`. Undefined if everything was already printed.
 */
export function describeFailure(thrown: unknown): string | undefined {
  if (thrown instanceof SilentFailure) return thrown.cause === undefined ? undefined : describeFailure(thrown.cause);
  if (process.env.PROCTOR_DEBUG && thrown instanceof Error) return printableLines(inspect(thrown));
  const message = messageOf(thrown);
  const root = rootOf(thrown);
  const cause = messageOf(root);
  const isTold = message.includes(cause) || (hasCode(root) && message.includes(root.code));
  return printableLines(isTold ? message : `${message}\n  caused by: ${cause}`);
}

/** The innermost cause. An error with a code of ours already words its cause. */
function rootOf(thrown: unknown): unknown {
  let root = thrown;
  while (root instanceof Error && root.cause !== undefined && !isWorded(root)) root = root.cause;
  return root;
}

/** An error of the system, such as ECONNREFUSED. */
function hasCode(error: unknown): error is Error & { readonly code: string } {
  return error instanceof Error && 'code' in error && typeof error.code === 'string';
}

function isWorded(error: Error): boolean {
  return error instanceof BoundaryError || error instanceof ApiError;
}
