import { note } from './terminal.ts';

/** Word for the newest item of the kind that a command takes. With several kinds it means the newest evaluation. */
const LAST = 'last';

/** True if the user typed `last`. */
export function isLast(named: string): boolean {
  return named === LAST;
}

/** Prints which item `last` means. @returns the id. */
export function takeLast(kind: string, id: string): string {
  note(`${LAST} is the ${kind} ${id}`);
  return id;
}
