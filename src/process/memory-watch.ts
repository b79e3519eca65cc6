import { isMarked, type ProcessRow, proportionalBytes, readProcesses } from './process-table.ts';

/** Our choice: what allocates as fast as it can gets some gigabytes in that time, which a cgroup alone prevents. */
const LOOK_EVERY_MS = 1_000;

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
/** The watch that each known process belongs to, by process id and start time. It never changes. */
let owners = new Map<string, WatchedMemory | undefined>();
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
    owners = new Map();
  };
}

function look(): void {
  const members = membersOf(readProcesses());
  for (const [group, processes] of members) {
    if (sum(processes, ({ residentBytes }) => residentBytes) <= group.limitBytes) continue;
    // Memory that several of them share was counted for each.
    const bytes = sum(processes, ({ pid, residentBytes }) => proportionalBytes(pid) ?? residentBytes);
    if (bytes <= group.limitBytes) continue;
    watched.delete(group);
    group.onOver({ bytes, processes: processes.length });
  }
}

function membersOf(processes: readonly ProcessRow[]): ReadonlyMap<WatchedMemory, readonly ProcessRow[]> {
  const known = owners;
  const byLeader = new Map([...watched].map((group) => [group.leader, group]));
  const members = new Map<WatchedMemory, ProcessRow[]>();
  owners = new Map();
  for (const row of processes) {
    const id = `${row.pid} ${row.startedAt}`;
    const owner = byLeader.get(row.group) ?? (known.has(id) ? known.get(id) : ownerOf(row));
    owners.set(id, owner);
    if (owner === undefined || !watched.has(owner)) continue;
    const own = members.get(owner);
    if (own === undefined) members.set(owner, [row]);
    else own.push(row);
  }
  return members;
}

function ownerOf({ pid }: ProcessRow): WatchedMemory | undefined {
  return [...watched].find(({ mark }) => isMarked(pid, mark));
}

function sum<T>(items: readonly T[], amountOf: (item: T) => number): number {
  return items.reduce((total, item) => total + amountOf(item), 0);
}
