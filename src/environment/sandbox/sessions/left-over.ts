import { hostname } from 'node:os';
import { isThere, processNamespace, startOf } from '../../process/process-table.ts';
import type { Engine, SandboxRecord } from '../engine.ts';

/** State of the process that holds a sandbox. `unknown`: it is on another machine, or in another container. */
export type HolderState = 'alive' | 'gone' | 'unknown';

/** This process in labels: machine, pid namespace, id, and time of its start, by which others tell whether it is alive. */
export function holderOfThisProcess(): string {
  return [hostname(), processNamespace() ?? '', process.pid, startOf(process.pid) ?? ''].join(':');
}

/** The state of the holder that a label names. */
export function stateOfHolder(holder: string | undefined): HolderState {
  const [machine, namespace, pid, startedAt = ''] = (holder ?? '').split(':');
  if (machine !== hostname() || namespace !== (processNamespace() ?? '') || !/^\d+$/.test(pid ?? '')) return 'unknown';
  return isThere(Number(pid), startedAt) ? 'alive' : 'gone';
}

export interface Removal {
  readonly record: SandboxRecord;
  /** Undefined if it was removed. */
  readonly error: unknown;
}

/**
 * Removes the sandboxes of a database whose holder is gone. Age does not matter, and those of other databases are never
 * seen.
 *
 * @param alsoUnknown removes those too whose holder cannot be seen from here.
 * @throws EngineError if the engine does not answer.
 */
export async function removeLeftOver(
  engine: Pick<Engine, 'list' | 'remove'>,
  owner: string,
  signal: AbortSignal,
  alsoUnknown = false,
): Promise<readonly Removal[]> {
  const removals: Removal[] = [];
  for (const record of await engine.list(owner, signal)) {
    const state = stateOfHolder(record.labels.holder);
    if (record.labels.owner !== owner || state === 'alive' || (state === 'unknown' && !alsoUnknown)) continue;
    const error: unknown = await engine.remove(record.id, signal).then(
      () => undefined,
      (thrown: unknown) => thrown ?? new Error('unknown'),
    );
    removals.push({ record, error });
  }
  return removals;
}
