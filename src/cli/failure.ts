import { messageOf } from '../contract/errors.ts';
import { printableLines } from './terminal.ts';

/** The command was used wrongly: exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The command did its work and the answer is no (a gate that was missed): exit code 1 without a further message. */
export class SilentFailure extends Error {
  override readonly name = 'SilentFailure';
}

export const EXIT = { failure: 1, usage: 2 } as const;

/** Codes of errors that come from what the user typed, whether found here or by a service. */
const USAGE_CODES: ReadonlySet<string> = new Set([
  'env_not_found',
  'scenario_not_found',
  'model_not_found',
  'invalid_scenario_args',
  'invalid_parameter',
]);

export function exitCodeOf(thrown: unknown): number {
  if (thrown instanceof UsageError) return EXIT.usage;
  if (thrown instanceof Error && 'code' in thrown && USAGE_CODES.has(String(thrown.code))) return EXIT.usage;
  return EXIT.failure;
}

/** One readable message; the causes where they say more; never a stack, unless `PROCTOR_DEBUG` asks for it. */
export function describeFailure(thrown: unknown): string {
  if (process.env.PROCTOR_DEBUG && thrown instanceof Error) return printableLines(thrown.stack ?? thrown.message);
  const messages = [messageOf(thrown)];
  for (let cause = causeOf(thrown); cause !== undefined; cause = causeOf(cause)) {
    const message = messageOf(cause);
    if (!messages.some((known) => known.includes(message))) messages.push(message);
  }
  return printableLines(messages.join('\n  caused by: '));
}

function causeOf(thrown: unknown): unknown {
  return thrown instanceof Error ? thrown.cause : undefined;
}
