import { listPids, markedVariables, type ProcessRow, proportionalBytes, readProcess } from './process-table.ts';

/** Our choice: what allocates as fast as it can gets some gigabytes in that time, which a cgroup alone prevents. */
const LOOK_EVERY_MS = 1_000;
/**
 * Processes that belong to nobody are read again in one look of so many: a machine has thousands of them, and each takes
 * longer than the rest of a look. Only a number that is given away twice within a second is seen that much later.
 */
const STRANGERS_EVERY = 10;

export interface MemoryUse {
  readonly bytes: number;
  readonly processes: number;
}

export interface WatchedMemory {
  /** Leader of the process group. */
  readonly leader: number;
  /** The mark of all that belongs to it. */
  readonly mark: string;
  readonly limitBytes: number;
  /** Told once. */
  readonly onOver: (use: MemoryUse) => void;
}

const watched = new Set<WatchedMemory>();
/** The processes of the last look, by their ids, with the watch that each belongs to. It never changes. */
let known = new Map<number, { readonly startedAt: string; readonly owner: WatchedMemory | undefined }>();
let looks = 0;
let timer: NodeJS.Timeout | undefined;

/**
 * Looks every second at what the processes of a group hold together, those that left it included, and says when that is
 * more than the limit. Linux alone: elsewhere nobody is told. Returns the way to stop.
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
    // Memory that several of them share was counted for each.
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
