import { randomBytes } from 'node:crypto';
import { PROCESS_VARIABLES } from '../../contract/names.ts';
import { findMarked, processNamespace, startOf } from './process-table.ts';

/**
 * The mark of this process. All processes that it starts inherit the mark, so that a watchdog finds those that are left
 * when this process has ended. The mark names its owner (process id, start time, pid namespace), so that others can
 * tell whether the owner is alive. Linux only.
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

/** The owners of all marks in a text. Marks without an owner are left out. */
export function ownersIn(text: string): readonly MarkOwner[] {
  return [...text.matchAll(OWNER)].map(([mark, pid, startedAt = '', namespace = '']) => ({
    mark,
    pid: Number(pid),
    startedAt,
    namespace,
  }));
}

/** Maximum number of rounds. Each round kills processes that started during the one before. */
const MAX_ROUNDS = 20;

let marks = 0;

export interface RunMark {
  /**
   * The mark itself. All processes that an environment's process starts have it in a variable, even outside the group.
   */
  readonly text: string;
  /** The value of `PROCTOR_RUN`: this mark after the marks of all runs around it. */
  readonly value: string;
}

/** Makes a mark that is unique on this machine. It is not a secret. */
export function createRunMark(): RunMark {
  marks += 1;
  const text = `${OWN_MARK}.${marks};`;
  return { text, value: `${process.env[PROCESS_VARIABLES.run] ?? ''}${text}` };
}

/**
 * Kills all processes that a run left behind, even if they left the process group and have another parent. Works on
 * Linux only. Processes that were started with other variables are not found.
 *
 * @returns the number of killed processes.
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
    // The process has ended by itself meanwhile.
  }
}
