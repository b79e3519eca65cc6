import { isJsonObject } from '../../../contract/json.ts';
import type { SessionChange } from '../session/session-changes.ts';

/** A report of an environment's process to the parent that reloads it. Each is one line of JSON. */
export type ChildReport =
  /** Absolute paths of files that were loaded since the last report. */
  | { readonly kind: 'files'; readonly files: readonly string[] }
  /** The environment is loaded and served. */
  | { readonly kind: 'ready'; readonly name: string; readonly version: string }
  /** Something in its session has changed. The parent may hold the streams that wait for changes. */
  | { readonly kind: 'changed'; readonly change: SessionChange }
  /** The environment could not be loaded, and the process ends. The message is one line, with the place if known. */
  | { readonly kind: 'failed'; readonly message: string };

/** @returns undefined if the line is not a report. */
export function parseChildReport(line: string): ChildReport | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isJsonObject(value) && typeof value.kind === 'string' ? (value as unknown as ChildReport) : undefined;
  } catch {
    return undefined;
  }
}
