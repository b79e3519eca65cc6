import { isJsonObject } from '../contract/json.ts';
import type { SessionChange } from './session/session-changes.ts';

/** A message of an environment's process to the parent that reloads it, one line of JSON each. */
export type ChildReport =
  /** Absolute paths of files that were loaded, since the last report of them. */
  | { readonly kind: 'files'; readonly files: readonly string[] }
  /** It serves: of the environment. */
  | { readonly kind: 'ready'; readonly name: string; readonly version: string }
  /** Something of its session is different now: streams that wait for it may be the parent's. */
  | { readonly kind: 'changed'; readonly change: SessionChange }
  /** It could not be loaded, and the process ends: one line, with the place where that is known. */
  | { readonly kind: 'failed'; readonly message: string };

/** @returns undefined for a line that is no report. */
export function parseChildReport(line: string): ChildReport | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isJsonObject(value) && typeof value.kind === 'string' ? (value as unknown as ChildReport) : undefined;
  } catch {
    return undefined;
  }
}
