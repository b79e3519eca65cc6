import { randomBytes } from 'node:crypto';
import { PROCESS_VARIABLES } from '../contract/names.ts';
import { findMarked, processNamespace, startOf } from './process-table.ts';

/**
 * The mark of this process. Everything that it starts inherits the mark, so that a watchdog finds what is left when this
 * process is gone. The mark names its owner (process id, start time, pid namespace), so that others can tell whether the
 * owner is alive. Linux only.
 */
export const OWN_MARK: string = [
  process.pid,
  startOf(process.pid) ?? '',
  processNamespace() ?? '',
  randomBytes(16).toString('hex'),
].join('_');

/** The process that a mark names. */
export interface MarkOwner {
  readonly mark: string;
  readonly pid: number;
  readonly startedAt: string;
  readonly namespace: string;
}

const OWNER = /\b(\d+)_(\d+)_(\d+)_[0-9a-f]{32}/g;

/** The owners of all marks in a text, those that tell of none left out. */
export function ownersIn(text: string): readonly MarkOwner[] {
  return [...text.matchAll(OWNER)].map(([mark, pid, startedAt = '', namespace = '']) => ({
    mark,
    pid: Number(pid),
    startedAt,
    namespace,
  }));
}

/** How often one looks again for what was started while one looked. */
const MAX_ROUNDS = 20;

let marks = 0;

export interface RunMark {
  /** In the variable of every process that an environment's process starts, however far it went from its group. */
  readonly text: string;
  /** The value of `PROCTOR_RUN`: the marks of all that it runs within. */
  readonly value: string;
}

/** A mark that no other process of this machine has. It is no secret, and it opens nothing. */
export function createRunMark(): RunMark {
  marks += 1;
  const text = `${OWN_MARK}.${marks};`;
  return { text, value: `${process.env[PROCESS_VARIABLES.run] ?? ''}${text}` };
}

/**
 * Kills what a run left behind, also what left its process group and has another parent now. Linux alone, where a
 * process of one's own shows its variables; one that was started with other variables is not found.
 *
 * @returns how many there were.
 */
export function killMarked(mark: string): number {
  const killed = new Set<number>();
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const found = findMarked(mark).filter((pid) => !killed.has(pid));
    if (found.length === 0) break;
    for (const pid of found) {
      killed.add(pid);
      kill(pid);
    }
  }
  return killed.size;
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself meanwhile.
  }
}
