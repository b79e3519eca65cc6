import { messageOf } from '../contract/errors.ts';
import { type MemoryUse, watchMemory } from './memory-watch.ts';
import { addProcessGroup, removeProcessGroup, signalGroup } from './process-group.ts';
import { createRunCgroup, type RunCgroup } from './run-cgroup.ts';
import { createRunMark, killMarked } from './run-mark.ts';

const MIB = 1_024 * 1_024;
const MORE_MEMORY = 'Where it needs more, raise "memoryMiB" of the environment in proctor.config.ts (0: no limit)';
/** The last message of Node.js when its heap is full. */
const OUT_OF_HEAP = /heap out of memory/;

/**
 * Confines a process and everything that it starts: its process group, a mark that all of them inherit, a cgroup where one
 * can be made, and a memory limit. None of them outlives the process, or the process that started it.
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
   * @param memoryMiB of all of them together; 0: no limit.
   * @throws Error where a cgroup was asked for and cannot be made.
   */
  constructor(memoryMiB: number) {
    this.#memoryMiB = memoryMiB;
    this.#cgroup = createRunCgroup(memoryMiB > 0 ? memoryMiB * MIB : undefined);
  }

  /** Value of the variable `PROCTOR_RUN` that the process must be started with. */
  get markValue(): string {
    return this.#mark.value;
  }

  /** Why it was killed, in words that continue "The environment …"; undefined where it was not. */
  get failure(): string | undefined {
    return this.#failure;
  }

  get isOverMemory(): boolean {
    return this.#isOverMemory;
  }

  /** To be called before the process, the leader of a group of its own, has started another one. */
  hold(leader: number): void {
    this.#leader = leader;
    addProcessGroup(leader);
    try {
      this.#cgroup?.add(leader);
    } catch (error) {
      // Without its limits it must not run.
      this.#failure = `could not be put into its cgroup (${messageOf(error)})`;
      this.#killAll(leader);
    }
    if (this.#memoryMiB === 0) return;
    const group = { leader, mark: this.#mark.text, limitBytes: this.#memoryMiB * MIB };
    this.#stopWatchingMemory = watchMemory({ ...group, onOver: (use) => this.#endOverMemory(leader, use) });
  }

  /** The leader has exited: kills all that it has left behind. */
  clear(): void {
    this.#hasExited = true;
    this.#stopWatchingMemory();
    if (this.#leader === undefined) return;
    if (this.#cgroup?.wasOutOfMemory) this.#failOverMemory();
    this.#killAll(this.#leader);
    this.#cgroup?.remove();
    this.letGo();
  }

  /** It could not be started, or it does not end by anything; from now on the number of its leader may be another's. */
  letGo(): void {
    this.#stopWatchingMemory();
    if (this.#leader === undefined) this.#cgroup?.remove();
    else removeProcessGroup(this.#leader);
  }

  /** How it ended, where that was its heap's limit, in words that continue "The environment …". */
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

  /** The kernel was faster than the look at what it holds. */
  #failOverMemory(): void {
    this.#isOverMemory = true;
    const limit = `more than its limit of ${this.#memoryMiB} MiB`;
    this.#failure ??= `wanted ${limit} of memory, and was killed. ${MORE_MEMORY}`;
  }

  /** Its group, and whatever has left that. */
  #killAll(leader: number): void {
    signalGroup(leader, 'SIGKILL');
    this.#cgroup?.kill();
    killMarked(this.#mark.text);
  }
}
