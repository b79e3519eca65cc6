import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectEnvironment } from '../../../environment/client/connect.ts';
import type { ConnectOptions, EnvironmentTarget } from '../../../environment/client/environment-client.ts';
import type { McpEnvironmentClient } from '../../../environment/client/mcp-environment-client.ts';
import { EnvironmentPool } from '../../../environment/client/pool/environment-pool.ts';
import type { OpenSession } from './play.ts';

export interface AloneOptions {
  /** Folder of temporary files. Default: a new one. */
  readonly folder?: string | undefined;
  /** Additional variables of the process. */
  readonly variables?: Readonly<Record<string, string>> | undefined;
}

/** Sessions that share one process. The caller must close it. */
export interface SharedPlace {
  readonly open: OpenSession;
  close(): Promise<void>;
}

/** Most sessions of a shared process: more than a check ever opens. */
const MANY_SESSIONS = 1_000;

/**
 * Starts the sessions of a check: each in its own process, many in one, or wherever they are cheapest. Temporary files
 * of the processes are in separate folders, which are removed at the end.
 */
export class SessionLaunchers {
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

  /**
   * Makes a folder that all users can write to, because an environment may run agents' code as a user without rights.
   */
  newFolder(): string {
    const folder = mkdtempSync(join(this.#root, 't-'));
    chmodSync(this.#root, 0o711);
    chmodSync(folder, 0o1777);
    return folder;
  }

  /** Opens each session in its own process. A server that runs elsewhere, or in this process, decides itself. */
  alone({ folder, variables }: AloneOptions = {}): (options: ConnectOptions) => Promise<McpEnvironmentClient> {
    return (options) => connectEnvironment(this.#with({ ...variables, TMPDIR: folder ?? this.newFolder() }), options);
  }

  /** Opens sessions in one shared process; undefined for a command, which cannot be told to share. */
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

  /** The cheapest known way to open sessions. */
  get cheap(): OpenSession {
    return this.#cheap;
  }

  /** Lets cheap sessions share processes, after sessions were seen not to affect each other. */
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
