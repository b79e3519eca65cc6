import { readdirSync, readFileSync } from 'node:fs';

export interface TreeUse {
  readonly processes: number;
  /** Resident memory that is the processes' own: without the pages of programs and files that they map. */
  readonly memoryBytes: number;
}

/**
 * What a process and everything below it use at this moment; nothing where there is no /proc. Below `bwrap` that is the
 * whole sandbox, since a process there that loses its parent becomes the child of the sandbox's first process.
 */
export function measureTree(pid: number): TreeUse {
  const all = treeOf(pid);
  const memoryBytes = all.reduce((sum, each) => {
    const status = read(`/proc/${each}/status`);
    return sum + kilobytes(status, 'RssAnon') * 1024 + kilobytes(status, 'RssShmem') * 1024;
  }, 0);
  return { processes: all.length, memoryBytes };
}

/** A process and everything below it, parents first; the process alone where there is no /proc. */
export function treeOf(pid: number): readonly number[] {
  const all = [pid];
  for (const next of all) all.push(...childrenOf(next));
  return all;
}

function childrenOf(pid: number): readonly number[] {
  const threads = list(`/proc/${pid}/task`);
  return threads.flatMap((thread) =>
    read(`/proc/${pid}/task/${thread}/children`).split(' ').filter(Boolean).map(Number),
  );
}

function kilobytes(status: string, field: string): number {
  return Number(new RegExp(`^${field}:\\s*(\\d+)`, 'm').exec(status)?.[1] ?? 0);
}

/** Processes end while they are measured: what cannot be read is no longer there. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function list(path: string): readonly string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
