import { messageOf } from '../contract/errors.ts';

/** Ends this process, which could not start its environment: one line says why. */
export function failStart(error: unknown): never {
  process.stderr.write(`${messageOf(error).split('\n')[0]}\n`);
  process.exit(1);
}
