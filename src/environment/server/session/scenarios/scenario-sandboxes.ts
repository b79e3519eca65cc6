import { isDeepStrictEqual } from 'node:util';
import { messageOf } from '../../../../contract/errors.ts';
import type { JsonObject } from '../../../../contract/json.ts';
import { META } from '../../../../contract/names.ts';
import type { SandboxEnd, SandboxFacts, SandboxFault } from '../../../../contract/scenario.ts';
import type { EnvironmentDefinition, ScenarioDefinition, ToolContext } from '../../../authoring/definition.ts';
import type { SandboxEngines } from '../../../sandbox/open-engine.ts';
import type { SessionSandboxes } from '../../../sandbox/sessions/session-sandboxes.ts';
import type { Report } from '../../cleanup.ts';

export interface ScenarioSandboxesParts {
  readonly definition: EnvironmentDefinition;
  readonly session: string;
  /** The engines of this process. */
  readonly engines: () => Promise<SandboxEngines>;
  readonly report: Report;
}

interface OpenedFor {
  readonly scenario: string;
  readonly args: unknown;
  readonly sandboxes: SessionSandboxes;
  /** True after a setup has used them. The next one gets new ones. */
  isUsed: boolean;
}

/**
 * The sandboxes of the scenarios of one session. Each setup has its own. The code of sandboxes is loaded at the first
 * one, because most environments have none.
 */
export class ScenarioSandboxes {
  readonly #parts: ScenarioSandboxesParts;
  readonly #closing = new AbortController();
  #opened: OpenedFor | undefined;
  #opening: Promise<unknown> = Promise.resolve();
  #ends: readonly SandboxEnd[] = [];
  /** Why the last sandboxes could not be made, if the engine failed. */
  #failure: SandboxFault | undefined;

  constructor(parts: ScenarioSandboxesParts) {
    this.#parts = parts;
  }

  /** Makes the sandboxes of a scenario before its setup. @throws EngineError, TypeError; the reason of the signal. */
  async prepare({ name }: ScenarioDefinition, args: unknown, request: ToolContext): Promise<readonly SandboxFacts[]> {
    this.#failure = undefined;
    const opening = this.#open(name, args, request);
    // The caller gets the error. The name is compared, because this code may be loaded twice in a process.
    this.#opening = opening.catch((error: unknown) => {
      if (error instanceof Error && error.name === 'EngineError')
        this.#failure = { by: 'engine', reason: error.message };
    });
    try {
      return await opening;
    } finally {
      await this.#opening;
    }
  }

  /** Makes the sandboxes unless they are there for just this setup. @throws as `prepare`. */
  async ensure(scenario: ScenarioDefinition, args: unknown, request: ToolContext): Promise<void> {
    const opened = this.#opened;
    const isFor = opened?.scenario === scenario.name && isDeepStrictEqual(opened.args, args);
    if (!isFor || opened.isUsed) await this.prepare(scenario, args, request);
    if (this.#opened !== undefined) this.#opened.isUsed = true;
  }

  /** Ends the programs of the agent, unless the scenario is graded live, and notes what the agent changed. */
  async beforeEvaluation(isLive: boolean): Promise<void> {
    const sandboxes = this.#opened?.sandboxes;
    if (sandboxes === undefined) return;
    if (!isLive) await sandboxes.freeze();
    this.#ends = await sandboxes.ends();
  }

  /** Adds to the result of a call what a harness has to know: a lost sandbox, and what the agent changed. */
  addFacts<Result extends { readonly _meta?: Readonly<Record<string, unknown>> | undefined }>(result: Result): Result {
    const fault = this.#opened?.sandboxes.fault ?? this.#failure;
    const ends = this.#ends;
    this.#ends = [];
    const refusals = this.#opened?.sandboxes.takeRefusals() ?? [];
    if (fault === undefined && ends.length === 0 && refusals.length === 0) return result;
    const facts = {
      ...(fault && { [META.sandboxFault]: fault }),
      ...(ends.length > 0 && { [META.sandboxes]: ends }),
      ...(refusals.length > 0 && { [META.sandboxRefusals]: refusals }),
    };
    return { ...result, _meta: { ...result._meta, ...facts } };
  }

  /** `_meta` that says why no sandbox can be made. Empty if they can, and if their options depend on a scenario. */
  async problemMeta(signal: AbortSignal): Promise<JsonObject> {
    try {
      const [engines, { checkDeclared }] = await Promise.all([
        this.#parts.engines(),
        import('../../../sandbox/sessions/check-declared.ts'),
      ]);
      await checkDeclared([...this.#parts.definition.sandboxes.values()], engines, signal);
      return {};
    } catch (error) {
      return { [META.sandboxProblem]: messageOf(error) };
    }
  }

  /** Ends all sandboxes. Never rejects. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('The session is over'));
    await this.#opening;
    await this.#end();
  }

  async #open(scenario: string, args: unknown, { signal, meta }: ToolContext): Promise<readonly SandboxFacts[]> {
    await this.#opening;
    await this.#end();
    const { definition, session, engines, report } = this.#parts;
    const { SessionSandboxes: Opened } = await import('../../../sandbox/sessions/session-sandboxes.ts');
    const run = meta[META.run];
    const { sandboxes, facts } = await Opened.open(
      {
        environment: definition.name,
        session,
        requests: [...definition.sandboxes.values()],
        engines: await engines(),
        report,
      },
      args,
      { signal: AbortSignal.any([signal, this.#closing.signal]), run: typeof run === 'string' ? run : undefined },
    );
    this.#opened = { scenario, args, sandboxes, isUsed: false };
    return facts;
  }

  async #end(): Promise<void> {
    const opened = this.#opened;
    this.#opened = undefined;
    await opened?.sandboxes.close();
  }
}
