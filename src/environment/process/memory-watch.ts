import { listPids, markedVariables, type ProcessRow, proportionalBytes, readProcess } from './process-table.ts';

/** Milliseconds between two checks. A process may allocate some gigabytes in this time; only a cgroup prevents that. */
const LOOK_EVERY_MS = 1_000;
/**
 * Processes that belong to no environment are read again only in every tenth check, because a machine has thousands of
 * them and reading each is slow. If such a process's id is reused within a second, the new process is noticed that much
 * later.
 */
const STRANGERS_EVERY = 10;

export interface MemoryUse {
  readonly bytes: number;
  readonly processes: number;
}

export interface WatchedMemory {
  /** Id of the process that leads the group. */
  readonly leader: number;
  /** The mark that all its processes inherit. */
  readonly mark: string;
  readonly limitBytes: number;
  /** Called once, when the processes use more than the limit. */
  readonly onOver: (use: MemoryUse) => void;
}

const watched = new Set<WatchedMemory>();
/**
 * The processes of the last check by their ids, with the watch that each belongs to. The owner of a process never
 * changes.
 */
let known = new Map<number, { readonly startedAt: string; readonly owner: WatchedMemory | undefined }>();
let looks = 0;
let timer: NodeJS.Timeout | undefined;

/**
 * Checks every second how much memory the processes of a group use together, including those that left the group, and
 * calls back if it is more than the limit. Works on Linux only. Returns a function that stops the checks.
 */
export function watchMemory(group: WatchedMemory): () => void {
  watched.add(group);
  timer ??= setInterval(look, LOOK_EVERY_MS).unref();
  return () => {
    watched.delete(group);
    if (watched.size > 0) return;
    clearInterval(timer);
    timer = undefined;
    known = new Map();
  };
}

function look(): void {
  const members = findMembers();
  for (const [group, processes] of members) {
    if (sum(processes, ({ residentBytes }) => residentBytes) <= group.limitBytes) continue;
    // The sum counts shared memory several times, so a sum above the limit is computed again with shares.
    const bytes = sum(processes, ({ pid, residentBytes }) => proportionalBytes(pid) ?? residentBytes);
    if (bytes <= group.limitBytes) continue;
    watched.delete(group);
    group.onOver({ bytes, processes: processes.length });
  }
}

function findMembers(): ReadonlyMap<WatchedMemory, readonly ProcessRow[]> {
  looks += 1;
  const before = known;
  const byLeader = new Map([...watched].map((group) => [group.leader, group]));
  const members = new Map<WatchedMemory, ProcessRow[]>();
  known = new Map();
  for (const pid of listPids()) {
    const last = before.get(pid);
    const isStranger = last !== undefined && !isWatched(last.owner) && !byLeader.has(pid);
    if (isStranger && looks % STRANGERS_EVERY !== 0) {
      known.set(pid, last);
      continue;
    }
    const row = readProcess(pid);
    if (row === undefined) continue;
    const owner = byLeader.get(row.group) ?? (last?.startedAt === row.startedAt ? last.owner : ownerOf(row));
    known.set(pid, { startedAt: row.startedAt, owner });
    if (!isWatched(owner)) continue;
    const own = members.get(owner);
    if (own === undefined) members.set(owner, [row]);
    else own.push(row);
  }
  return members;
}

function isWatched(owner: WatchedMemory | undefined): owner is WatchedMemory {
  return owner !== undefined && watched.has(owner);
}

function ownerOf({ pid }: ProcessRow): WatchedMemory | undefined {
  const variables = markedVariables(pid);
  return variables === '' ? undefined : [...watched].find(({ mark }) => variables.includes(mark));
}

function sum<T>(items: readonly T[], amountOf: (item: T) => number): number {
  return items.reduce((total, item) => total + amountOf(item), 0);
}
