import type { SandboxEnd, SandboxFacts, SandboxRefusal } from '../../../contract/scenario.ts';
import { endsWithin } from '../../../support/runtime/deadline.ts';
import type { FrozenFiles, SandboxLabels, SandboxLoss } from '../engine.ts';
import { createEgressProxy, type OpenEgressProxy } from '../network/egress-proxy.ts';
import { NO_OWNER, type SandboxEngines } from '../open-engine.ts';
import { type CheckedOptions, checkSandboxOptions, imageText } from '../options.ts';
import type { Sandbox, SandboxOptions } from '../sandbox.ts';
import { holderOfThisProcess } from './left-over.ts';
import { copyKept, type OpenedSandbox, openSandbox } from './open-sandbox.ts';
import { type FreshOptions, SessionSandbox } from './session-sandbox.ts';

/** A sandbox that each session of an environment gets. */
export interface SandboxRequest {
  readonly name: string;
  optionsFor(scenarioArgs: unknown): SandboxOptions;
  bind(sandbox: Sandbox): void;
  release(sandbox: Sandbox): void;
}

export interface SessionSandboxesOptions {
  readonly environment: string;
  readonly session: string;
  readonly requests: readonly SandboxRequest[];
  readonly engines: SandboxEngines;
  /** Gets sentences for the log. */
  readonly report: (text: string) => void;
}

/** Milliseconds to read what the agent changed. The evaluation waits for it. */
const CHANGES_MS = 10_000;
/** Refusals that are kept until the next call tells them. */
const KEPT_REFUSALS = 100;
/** Paths of each kind that a trace lists. */
const LISTED_PATHS = 200;

/** The sandboxes of one session, and those that `fresh` made. The caller that opens them has to close them. */
export class SessionSandboxes {
  readonly #options: SessionSandboxesOptions;
  readonly #run: string | undefined;
  readonly #ending = new AbortController();
  readonly #declared: { readonly request: SandboxRequest; readonly sandbox: SessionSandbox }[] = [];
  readonly #fresh: SessionSandbox[] = [];
  readonly #frozen: FrozenFiles[] = [];
  readonly #checked = new Map<string, CheckedOptions>();
  readonly #proxies: OpenEgressProxy[] = [];
  #refusals: SandboxRefusal[] = [];
  #fault: SandboxLoss | undefined;
  #closing: Promise<void> | undefined;

  private constructor(options: SessionSandboxesOptions, run: string | undefined) {
    this.#options = options;
    this.#run = run;
  }

  /**
   * Makes all sandboxes at once. If one fails, the others are ended.
   *
   * @throws EngineError; TypeError for options of the wrong type; any error of the author's function; the signal's reason.
   */
  static async open(
    options: SessionSandboxesOptions,
    args: unknown,
    { signal, run }: { readonly signal: AbortSignal; readonly run: string | undefined },
  ): Promise<{ readonly sandboxes: SessionSandboxes; readonly facts: readonly SandboxFacts[] }> {
    const sandboxes = new SessionSandboxes(options, run);
    const opening = await Promise.allSettled(options.requests.map((request) => sandboxes.#open(request, args, signal)));
    const failed = opening.find((each) => each.status === 'rejected');
    if (failed === undefined && !signal.aborted) {
      return { sandboxes, facts: opening.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : [])) };
    }
    await sandboxes.close();
    signal.throwIfAborted();
    throw failed?.reason;
  }

  /** How the engine failed, or how a sandbox was lost. Undefined if neither happened. The agent's own doing comes first. */
  get fault(): SandboxLoss | undefined {
    return this.#fault;
  }

  /** Destinations that proxies have refused since the last call. */
  takeRefusals(): readonly SandboxRefusal[] {
    const taken = this.#refusals;
    this.#refusals = [];
    return taken;
  }

  /** Freezes the sandboxes of the agent. @throws EngineError */
  async freeze(): Promise<void> {
    await Promise.all(this.#declared.map(({ sandbox }) => sandbox.freeze()));
  }

  /** Reads the changes that the agent made to its sandboxes. Never rejects, because an evaluation can go on without it. */
  async ends(): Promise<readonly SandboxEnd[]> {
    return await Promise.all(this.#declared.map(({ sandbox }) => endFactsOf(sandbox, this.#ending.signal)));
  }

  /** Ends all sandboxes. Later calls wait for the first. Never rejects. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#ending.abort(new Error('The session is over'));
    for (const { request, sandbox } of this.#declared) request.release(sandbox);
    const all = [...this.#declared.map(({ sandbox }) => sandbox), ...this.#fresh];
    const stopped = await Promise.allSettled(all.map((sandbox) => sandbox.stop()));
    const removed = await Promise.allSettled(this.#frozen.map((files) => files.remove()));
    const closed = await Promise.allSettled(this.#proxies.map((proxy) => proxy.close()));
    for (const each of [...stopped, ...removed, ...closed]) {
      if (each.status === 'rejected') this.#options.report(`A sandbox was not removed: ${String(each.reason)}`);
    }
  }

  async #open(request: SandboxRequest, args: unknown, signal: AbortSignal): Promise<SandboxFacts> {
    const { name } = request;
    const checked = checkSandboxOptions(name, request.optionsFor(args));
    this.#checked.set(name, checked);
    const opened = await this.#make(name, checked, undefined, signal);
    const sandbox = this.#wrap(name, checked, opened);
    this.#declared.push({ request, sandbox });
    request.bind(sandbox);
    return factsOf(name, checked, opened);
  }

  async #make(
    name: string,
    options: CheckedOptions,
    frozen: FrozenFiles | undefined,
    signal: AbortSignal,
  ): Promise<OpenedSandbox> {
    const { engines } = this.#options;
    const makeProxy = (allow: readonly string[]) => this.#makeProxy(name, allow);
    const opened = await openSandbox({ name, options, labels: this.#labels, frozen }, { engines, makeProxy }, signal);
    if (!this.#ending.signal.aborted) return opened;
    // The session has ended meanwhile, and its list was gone through already.
    await opened.sandbox.stop().catch(() => {});
    throw this.#ending.signal.reason;
  }

  #makeProxy(sandbox: string, allow: readonly string[]): OpenEgressProxy {
    const proxy = createEgressProxy({
      allow,
      onRefused: ({ host, port, reason }) => {
        this.#options.report(`The sandbox "${sandbox}" wanted ${host}:${port}: the destination ${reason}`);
        // An agent can ask without end. The log has the rest.
        if (this.#refusals.length < KEPT_REFUSALS) this.#refusals.push({ sandbox, host, port });
      },
    });
    this.#proxies.push(proxy);
    return proxy;
  }

  #wrap(
    name: string,
    { workdir, env, limits }: CheckedOptions,
    { sandbox, initial, ready }: OpenedSandbox,
  ): SessionSandbox {
    const { report } = this.#options;
    return new SessionSandbox({
      name,
      workdir,
      env,
      sandbox,
      initial,
      notEnforced: ready.figures.notEnforced,
      memoryBytes: limits.memoryBytes,
      ended: this.#ending.signal,
      fresh: (from, options) => this.#makeFresh(from, options),
      warn: (text) => report(`The sandbox "${name}": ${text}`),
      onFault: (fault) => {
        if (this.#fault === undefined || (fault.by === 'agent' && this.#fault.by !== 'agent')) this.#fault = fault;
      },
    });
  }

  async #makeFresh(from: SessionSandbox, { keep, image, signal }: FreshOptions): Promise<Sandbox> {
    const known = this.#checked.get(from.name);
    if (known === undefined) throw new Error(`The sandbox "${from.name}" is unknown in this session`);
    const waiting = signal ?? this.#ending.signal;
    let frozen: FrozenFiles | undefined;
    if (keep === undefined) {
      await from.freeze();
      frozen = await from.engineSandbox.snapshot(waiting);
      this.#frozen.push(frozen);
    }
    const options: CheckedOptions = { ...known, files: {}, ...(image === undefined ? {} : { image }) };
    const opened = await this.#make(from.name, options, frozen, waiting);
    const sandbox = this.#wrap(from.name, options, opened);
    this.#fresh.push(sandbox);
    const paths = (keep ?? []).map((path) => from.resolve(path));
    await copyKept(from.engineSandbox, opened.sandbox, paths, opened.initial, waiting);
    return sandbox;
  }

  get #labels(): SandboxLabels {
    const { environment, session, engines } = this.#options;
    return {
      owner: engines.settings.owner ?? NO_OWNER,
      holder: holderOfThisProcess(),
      run: this.#run,
      session,
      environment,
    };
  }
}

function factsOf(name: string, options: CheckedOptions, opened: OpenedSandbox): SandboxFacts {
  const { network, limits } = options;
  const { kind, version, notEnforced, warnings } = opened.ready.figures;
  return {
    name,
    engine: kind,
    engine_version: version,
    image: options.image === undefined ? null : imageText(options.image),
    digest: opened.image?.digest ?? null,
    network: typeof network === 'string' ? network : 'allow',
    limits: {
      memory_bytes: limits.memoryBytes ?? null,
      cpus: limits.cpus ?? null,
      processes: limits.processes ?? null,
      disk_bytes: limits.diskBytes ?? null,
    },
    not_enforced: Object.fromEntries(Object.entries(notEnforced).filter(([, reason]) => reason !== undefined)),
    warnings: [...warnings],
    queued_ms: Math.round(opened.queuedMs),
    image_ms: Math.round(opened.imageMs),
    start_ms: Math.round(opened.startMs),
  };
}

async function endFactsOf(sandbox: SessionSandbox, signal: AbortSignal): Promise<SandboxEnd> {
  const { name } = sandbox;
  let facts: SandboxEnd = { name, changes: null, omitted: 0, memory_kills: 0, problem: null };
  const read = async () => {
    const { added, changed, removed } = await sandbox.changes();
    const listed = (paths: readonly string[]) => paths.slice(0, LISTED_PATHS);
    const changes = { added: listed(added), changed: listed(changed), removed: listed(removed) };
    const omitted = [added, changed, removed].reduce((sum, paths) => sum + Math.max(0, paths.length - LISTED_PATHS), 0);
    facts = { ...facts, changes, omitted, memory_kills: await sandbox.engineSandbox.memoryKills(signal) };
  };
  try {
    if (await endsWithin(read(), CHANGES_MS, signal)) return facts;
    return { ...facts, problem: `the changes were not read within ${CHANGES_MS / 1_000} s` };
  } catch (error) {
    return { ...facts, problem: error instanceof Error ? error.message : String(error) };
  }
}
