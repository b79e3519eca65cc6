import { messageOf } from '../../contract/errors.ts';
import { type MemoryUse, watchMemory } from './memory-watch.ts';
import { addProcessGroup, removeProcessGroup, signalGroup } from './process-group.ts';
import { createRunCgroup, type RunCgroup } from './run-cgroup.ts';
import { createRunMark, killMarked } from './run-mark.ts';

const MIB = 1_024 * 1_024;
const MORE_MEMORY = 'Where it needs more, raise "memoryMiB" of the environment in proctor.config.ts (0: no limit)';
/** Node.js prints this when its heap is full. */
const OUT_OF_HEAP = /heap out of memory/;

/**
 * Confines a process and everything that it starts: with a process group, a mark that all of them inherit, a cgroup if
 * possible, and a memory limit. All of them end with the process, and with the process that started it.
 */
export class Confinement {
  readonly #memoryMiB: number;
  readonly #cgroup: RunCgroup | undefined;
  readonly #mark = createRunMark();
  #stopWatchingMemory = () => {};
  #leader: number | undefined;
  #hasExited = false;
  #isOverMemory = false;
  #failure: string | undefined;

  /**
   * @param memoryMiB limits all of them together; 0 means no limit.
   * @throws Error if a cgroup is configured and cannot be made.
   */
  constructor(memoryMiB: number) {
    this.#memoryMiB = memoryMiB;
    this.#cgroup = createRunCgroup(memoryMiB > 0 ? memoryMiB * MIB : undefined);
  }

  /** Value for the variable `PROCTOR_RUN` of the process. */
  get markValue(): string {
    return this.#mark.value;
  }

  /** The reason why it was killed. The text continues "The environment …". Undefined if it was not killed. */
  get failure(): string | undefined {
    return this.#failure;
  }

  get isOverMemory(): boolean {
    return this.#isOverMemory;
  }

  /** Confines the process, which has to lead its own process group. Call this before the process starts another one. */
  hold(leader: number): void {
    this.#leader = leader;
    addProcessGroup(leader);
    try {
      this.#cgroup?.add(leader);
    } catch (error) {
      // The process must not run without its limits.
      this.#failure = `could not be put into its cgroup (${messageOf(error)})`;
      this.#killAll(leader);
    }
    if (this.#memoryMiB === 0) return;
    const group = { leader, mark: this.#mark.text, limitBytes: this.#memoryMiB * MIB };
    this.#stopWatchingMemory = watchMemory({ ...group, onOver: (use) => this.#endOverMemory(leader, use) });
  }

  /** Kills everything that is left after the leader has exited. */
  clear(): void {
    this.#hasExited = true;
    this.#stopWatchingMemory();
    if (this.#leader === undefined) return;
    if (this.#cgroup?.wasOutOfMemory) this.#failOverMemory();
    this.#killAll(this.#leader);
    this.#cgroup?.remove();
    this.letGo();
  }

  /**
   * Stops watching. Call this if the process could not be started or cannot be killed: from then on another process may
   * get its id.
   */
  letGo(): void {
    this.#stopWatchingMemory();
    if (this.#leader === undefined) this.#cgroup?.remove();
    else removeProcessGroup(this.#leader);
  }

  /** A description if the process ended because its heap was full. The text continues "The environment …". */
  heapEnding(code: number | null, lastWords: string): string | undefined {
    if (this.#memoryMiB === 0 || code === 0 || !OUT_OF_HEAP.test(lastWords)) return undefined;
    return `ran out of memory within its limit of ${this.#memoryMiB} MiB. ${MORE_MEMORY}`;
  }

  #endOverMemory(leader: number, { bytes, processes }: MemoryUse): void {
    if (this.#hasExited) return;
    this.#isOverMemory = true;
    const among = processes === 1 ? '' : ` with ${processes} processes`;
    const limit = `more than its limit of ${this.#memoryMiB} MiB, and was killed`;
    this.#failure ??= `used ${Math.ceil(bytes / MIB)} MiB of memory${among}, ${limit}. ${MORE_MEMORY}`;
    this.#killAll(leader);
  }

  /** Records that the kernel killed the process for its memory before our check noticed. */
  #failOverMemory(): void {
    this.#isOverMemory = true;
    const limit = `more than its limit of ${this.#memoryMiB} MiB`;
    this.#failure ??= `wanted ${limit} of memory, and was killed. ${MORE_MEMORY}`;
  }

  /** Kills the process group, the cgroup, and processes that have left the group. */
  #killAll(leader: number): void {
    signalGroup(leader, 'SIGKILL');
    this.#cgroup?.kill();
    killMarked(this.#mark.text);
  }
}
