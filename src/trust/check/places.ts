import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectEnvironment } from '../../client/connect.ts';
import type { ConnectOptions, EnvironmentTarget } from '../../client/environment-client.ts';
import { EnvironmentPool } from '../../client/environment-pool.ts';
import type { McpEnvironmentClient } from '../../client/mcp-environment-client.ts';
import type { OpenSession } from './play.ts';

export interface AloneOptions {
  /** Its folder of temporary files. Default: one of its own. */
  readonly folder?: string | undefined;
  /** Further variables of its process. */
  readonly variables?: Readonly<Record<string, string>> | undefined;
}

/** Many sessions of one process. Whoever opened it closes it. */
export interface SharedPlace {
  readonly open: OpenSession;
  close(): Promise<void>;
}

/** Sessions that a process is told to hold: more than a check ever opens. */
const MANY_SESSIONS = 1_000;

/**
 * Where the sessions of a check are: each in a process of its own, many in one, or wherever they cost least. Temporary
 * files of the processes are in folders of their own, which are removed at the end.
 */
export class Places {
  readonly #target: EnvironmentTarget;
  readonly #root = mkdtempSync(join(tmpdir(), 'proctor-check-'));
  readonly #pools = new Set<EnvironmentPool>();
  #cheap: OpenSession;

  constructor(target: EnvironmentTarget) {
    this.#target = target;
    this.#cheap = this.alone({ folder: this.newFolder() });
  }

  get kind(): EnvironmentTarget['kind'] {
    return this.#target.kind;
  }

  /** Open to all users, as the system's own is: an environment may run what agents write as a user without rights. */
  newFolder(): string {
    const folder = mkdtempSync(join(this.#root, 't-'));
    chmodSync(this.#root, 0o711);
    chmodSync(folder, 0o1777);
    return folder;
  }

  /** A process for each session; a server that runs elsewhere, or in this process, has its sessions where it has them. */
  alone({ folder, variables }: AloneOptions = {}): (options: ConnectOptions) => Promise<McpEnvironmentClient> {
    return (options) => connectEnvironment(this.#with({ ...variables, TMPDIR: folder ?? this.newFolder() }), options);
  }

  /** Sessions that share one process. Undefined where nobody can have them do so: a command. */
  shared(options: AloneOptions & { readonly hosts?: number } = {}): SharedPlace | undefined {
    const target = this.#target;
    if (target.kind === 'command') return undefined;
    if (target.kind !== 'module') return { open: (how) => connectEnvironment(target, how), close: async () => {} };
    const { folder = this.newFolder(), variables, hosts = 1 } = options;
    const hosted = this.#with({ ...variables, TMPDIR: folder });
    const many = { ...hosted, limits: { ...target.limits, sessionsPerProcess: MANY_SESSIONS } };
    const pool = new EnvironmentPool({ perEnvironment: 0, hosts });
    this.#pools.add(pool);
    return {
      open: (how) => pool.connect(many, { ...how, codeHash: null, kind: 'run' }),
      close: async () => {
        this.#pools.delete(pool);
        await pool.close();
      },
    };
  }

  /** Where sessions cost least, as far as is known. */
  get cheap(): OpenSession {
    return this.#cheap;
  }

  /** From now on cheap sessions share processes: they have been seen to observe nothing of each other. */
  share(hosts: number): void {
    this.#cheap = this.shared({ hosts })?.open ?? this.#cheap;
  }

  /** Ends all processes, and removes all folders. Never rejects. */
  async close(): Promise<void> {
    await Promise.all([...this.#pools].map((pool) => pool.close()));
    rmSync(this.#root, { recursive: true, force: true, maxRetries: 3 });
  }

  #with(variables: Readonly<Record<string, string>>): EnvironmentTarget {
    const target = this.#target;
    if (target.kind !== 'module' && target.kind !== 'command') return target;
    return { ...target, env: { ...target.env, ...variables } };
  }
}
