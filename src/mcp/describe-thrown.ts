import { inspect } from 'node:util';

/** Whatever author code has thrown, in full, for the log. Never throws itself, which `inspect` does where a getter does. */
export function describeThrown(thrown: unknown): string {
  try {
    return inspect(thrown);
  } catch {
    return 'something that cannot be shown';
  }
}
