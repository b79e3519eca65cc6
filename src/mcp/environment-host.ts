import { randomUUID } from 'node:crypto';
import type { Transport } from '@modelcontextprotocol/server';
import { SHUTDOWN_GRACE_MS } from '../contract/names.ts';
import type { EnvironmentDefinition } from '../environment/definition.ts';
import { type EnvironmentSource, instantiateEnvironment } from '../environment/environment-source.ts';
import { describeUnmatched } from '../text/tool-patterns.ts';
import type { HarnessAuthority } from './audience.ts';
import { type Report, runCleanup } from './cleanup.ts';
import type { ConnectedSource } from './session/connected-source.ts';
import { EnvironmentSession } from './session/environment-session.ts';
import type { SessionChange } from './session/session-changes.ts';
import type { Era, SessionHost } from './session-host.ts';

export interface HostOptions {
  readonly authority: HarnessAuthority;
  readonly report: Report;
  /** Told of what changes in any session. */
  readonly onChange?: ((change: SessionChange) => void) | undefined;
  /** The servers of this process that it is connected by, as their authors gave them. */
  readonly connectedBy?: readonly unknown[];
}

/** Makes the sessions of one environment, an instance for each, and ends them. Whoever made it closes it. */
export class EnvironmentHost implements SessionHost {
  readonly authority: HarnessAuthority;
  readonly report: Report;
  /** True for an instance: every session shares its state. */
  readonly isShared: boolean;
  readonly #source: EnvironmentSource;
  readonly #onChange: HostOptions['onChange'];
  /** This environment and those that lead to it. */
  readonly #chain: readonly unknown[];
  readonly #open = new Set<EnvironmentSession>();
  /** Sessions that are ending: a shutdown waits for them. */
  readonly #ending = new Set<Promise<void>>();
  /** Made and not yet any session's. */
  #spare: EnvironmentDefinition | undefined;
  #latest: EnvironmentDefinition;
  #isClosed = false;

  /** @throws TypeError for what is not an environment; what the author's constructor or factory throws. */
  constructor(source: EnvironmentSource, options: HostOptions) {
    this.#source = source;
    this.authority = options.authority;
    this.report = options.report;
    this.#onChange = options.onChange;
    this.#chain = [...(options.connectedBy ?? []), source];
    // The first instance is made here, so that what is wrong with an environment is an error at start.
    const { definition, isShared } = instantiateEnvironment(source);
    this.isShared = isShared;
    this.#spare = definition;
    this.#latest = definition;
    this.#reportPatterns(this.#latest);
  }

  /** At the start, where all tools are known: a connected server or an initialize hook may add some. */
  #reportPatterns({ tools, hubs, scenarios, connections, initializeHooks }: EnvironmentDefinition): void {
    if (connections.size > 0 || initializeHooks.length > 0) return;
    const agentHubs = [...hubs.values()].filter(({ audience }) => audience === 'agent');
    const names = [...tools.keys(), ...agentHubs.map(({ name }) => name)];
    for (const scenario of scenarios.values()) {
      const fault = describeUnmatched(scenario.name, scenario.tools, names);
      if (fault !== undefined) this.report(fault);
    }
  }

  get name(): string {
    return this.#latest.name;
  }

  get version(): string {
    return this.#latest.version;
  }

  get sessionsPerProcess(): number {
    return this.#latest.sessionsPerProcess;
  }

  /** Sessions that have not begun to end. */
  get openSessions(): number {
    return this.#open.size;
  }

  /**
   * @param own of a session whose peer shows a key of its own, or whose log is its own.
   * @throws Error after closing; what the author's constructor or factory throws.
   */
  openSession(era: Era, hasHandle = false, own: Partial<HostOptions> = {}): EnvironmentSession {
    if (this.#isClosed) throw new Error('The server is closed');
    const definition = this.#spare ?? instantiateEnvironment(this.#source).definition;
    this.#spare = undefined;
    this.#latest = definition;
    const { authority = this.authority, report = this.report } = own;
    const openServer = (server: unknown) => this.#openConnected(server);
    const options = { id: randomUUID(), era, definition, authority, report, hasHandle, openServer };
    const session = new EnvironmentSession(options);
    if (this.#onChange !== undefined) session.changes.on(this.#onChange);
    this.#open.add(session);
    session.onclose = () => {
      this.#open.delete(session);
      const ending = session.close().then(() => {
        this.#ending.delete(ending);
      });
      this.#ending.add(ending);
    };
    return session;
  }

  /** @throws Error for an environment that leads to itself, as `openConnectedSource` for what is no server. */
  async #openConnected(server: unknown): Promise<ConnectedSource> {
    if (this.#chain.includes(server)) throw new Error(CONNECTED_TO_ITSELF);
    const connectedBy = [...this.#chain, server];
    const { openConnectedSource } = await import('./session/connected-source.ts');
    return openConnectedSource(server, (source, transport) => this.#serveConnected(source, transport, connectedBy));
  }

  /** Serves an environment that one of this host's is connected to, to an agent, in a host of its own. */
  async #serveConnected(
    source: EnvironmentSource,
    transport: Transport,
    connectedBy: readonly unknown[],
  ): Promise<() => Promise<void>> {
    const authority = { harnessKey: undefined, isPeerTrusted: false };
    const host = new EnvironmentHost(source, { authority, report: this.report, connectedBy });
    await host.openSession('legacy').connect(transport);
    return () => host.close(SHUTDOWN_GRACE_MS.environment);
  }

  /** Ends every session. Never rejects. */
  async close(budgetMs: number): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...[...this.#open].map((session) => session.close(budgetMs)), ...this.#ending]);
  }

  /**
   * Handles SIGTERM: ends every session, then runs the shutdown hooks of their instances. If no session is open, the hooks
   * of the last instance run, so that everything that the environment set up is taken down. Never rejects.
   */
  async shutdown(budgetMs: number): Promise<void> {
    const deadline = Date.now() + budgetMs;
    const live = new Set([...this.#open].map(({ definition }) => definition));
    const definitions = live.size > 0 ? live : new Set([this.#latest]);
    // Half of the budget, so that what hangs while a session ends leaves time for the shutdown hooks: also in one that
    // had begun to end before, with a budget of its own.
    const sessions = { name: 'The end of the sessions', run: () => this.close(budgetMs / 2) };
    await runCleanup([sessions], budgetMs / 2, this.report);
    const budgetOfHooksMs = Math.max(0, deadline - Date.now());
    const runHooks = ({ shutdownHooks }: EnvironmentDefinition) => {
      const steps = [...shutdownHooks].reverse().map((hook) => ({ name: 'A shutdown hook', run: hook }));
      return runCleanup(steps, budgetOfHooksMs, this.report);
    };
    // Side by side: a hook that hangs takes nothing from those of other instances.
    await Promise.all([...definitions].map(runHooks));
  }
}

const CONNECTED_TO_ITSELF =
  'its server is this environment itself, or one that is connected to this one: that would never end';
