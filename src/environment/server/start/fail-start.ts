import { messageOf } from '../../../contract/errors.ts';

/** Prints a one-line error and ends this process. */
export function failStart(error: unknown): never {
  process.stderr.write(`${messageOf(error).split('\n')[0]}\n`);
  process.exit(1);
}
