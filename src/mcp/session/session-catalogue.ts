import type { Audience, DefinitionChange, EnvironmentDefinition } from '../../environment/definition.ts';
import { describeUnmatched, matchesToolPatterns } from '../../text/tool-patterns.ts';
import type { Report } from '../cleanup.ts';
import type { ActiveScenario } from './active-scenario.ts';
import type { SessionConnections, SessionEntries } from './connections.ts';
import { listPrompts, type SessionPrompt, sessionPrompts } from './prompts.ts';
import {
  findResource,
  listResources,
  listResourceTemplates,
  type SessionResource,
  sessionResources,
} from './resources.ts';
import { type ScenarioState, sessionHubs } from './scenario-functions.ts';
import type { SessionChanges } from './session-changes.ts';
import { listTools, type SessionTool, sessionTools } from './session-tools.ts';

interface Contents {
  readonly tools: ReadonlyMap<string, SessionTool>;
  readonly resources: ReadonlyMap<string, SessionResource>;
  readonly prompts: ReadonlyMap<string, SessionPrompt>;
}

/** The contents of the lists. */
interface Served {
  readonly contents: Contents;
  /** Tools that an agent may use; undefined: all. */
  readonly patterns: ActiveScenario['toolPatterns'];
}

export interface CatalogueParts extends ScenarioState {
  readonly definition: EnvironmentDefinition;
  /** Entries of connected servers. The catalogue follows their changes. */
  readonly connections: SessionConnections;
  readonly changes: SessionChanges;
  readonly report: Report;
}

/**
 * The entries that a session serves, by name. It follows the author's declarations while the session is open, and tells
 * for each change which audience may learn of it. Its creator closes it.
 */
export class SessionCatalogue {
  readonly #parts: CatalogueParts;
  readonly #stopListening: () => void;
  #contents: Contents | undefined;
  #patterns: Served['patterns'];
  /** The entries before the changes that no client was notified of yet. */
  #before: Served | undefined;
  #telling: NodeJS.Immediate | undefined;

  constructor(parts: CatalogueParts) {
    this.#parts = parts;
    this.#contents = contentsOf(parts);
    this.#stopListening = parts.definition.changes.on((change) => this.#follow(change));
    parts.connections.onchange = (isNews) => {
      if (isNews) this.#follow({ kind: 'declared' });
      else this.#contents = undefined;
    };
    parts.active.onchange = () => this.#followScenario();
  }

  /** The author's declarations, in new maps that the caller may change. */
  own(): SessionEntries {
    return ownContentsOf(this.#parts);
  }

  get tools(): Contents['tools'] {
    return this.#current.tools;
  }

  get resources(): Contents['resources'] {
    return this.#current.resources;
  }

  get prompts(): Contents['prompts'] {
    return this.#current.prompts;
  }

  close(): void {
    this.#stopListening();
    this.#parts.active.onchange = undefined;
    clearImmediate(this.#telling);
  }

  get #current(): Contents {
    this.#contents ??= contentsOf(this.#parts);
    return this.#contents;
  }

  #follow(change: DefinitionChange): void {
    const { changes, report } = this.#parts;
    if (change.kind === 'resource') {
      const found = findResource(this.resources, change.uri, 'harness');
      if (found === undefined) report(`notifyResourceUpdated: there is no resource ${change.uri}`);
      else changes.emit({ kind: 'resource', uri: change.uri, audience: found.resource.audience });
      return;
    }
    this.#tellSoon();
    this.#contents = undefined;
  }

  /** A sentence for each scenario whose `tools` fit no tool of the session. */
  unmatchedPatterns(): readonly string[] {
    const names = listTools(this.tools, 'agent').map(({ name }) => name);
    return [...this.#parts.definition.scenarios.values()]
      .map((scenario) => describeUnmatched(scenario.name, scenario.tools, names))
      .filter((fault) => fault !== undefined);
  }

  /** Most scenarios name no tools: theirs come and go without any work here. */
  #followScenario(): void {
    const { toolPatterns } = this.#parts.active;
    if (toolPatterns === this.#patterns) return;
    this.#tellSoon();
    this.#patterns = toolPatterns;
  }

  /** Called before something is different. Ten declarations in a row are one change. */
  #tellSoon(): void {
    if (this.#contents !== undefined) this.#before ??= { contents: this.#contents, patterns: this.#patterns };
    this.#telling ??= setImmediate(() => this.#tell());
  }

  #tell(): void {
    const [before, after] = [this.#before, { contents: this.#current, patterns: this.#patterns }];
    this.#before = undefined;
    this.#telling = undefined;
    if (before === undefined) return;
    if (before.contents === after.contents) this.#tellOfScenario(before, after);
    else this.#tellOfContents(before, after);
  }

  #tellOfScenario(before: Served, after: Served): void {
    const named = (served: Served) => JSON.stringify(agentTools(served).map(({ name }) => name));
    if (named(before) === named(after)) return;
    this.#parts.changes.emit({ kind: 'tools', audience: 'agent', isForAgentsAlone: true });
  }

  #tellOfContents(before: Served, after: Served): void {
    const { changes } = this.#parts;
    for (const kind of ['tools', 'resources', 'prompts'] as const) {
      const concerned = AUDIENCES.filter((one) => listed(before, kind, one) !== listed(after, kind, one));
      const [audience] = concerned;
      if (audience === undefined) continue;
      changes.emit({ kind, audience, ...(concerned.includes('harness') ? {} : { isForAgentsAlone: true }) });
    }
    for (const [uri, { audience, isBuiltIn, content }] of after.contents.resources) {
      const old = before.contents.resources.get(uri);
      if (!isBuiltIn || old === undefined || JSON.stringify(old.content) === JSON.stringify(content)) continue;
      changes.emit({ kind: 'resource', uri, audience });
    }
  }
}

/** The agent first: what it sees, the harness sees too. */
const AUDIENCES: readonly Audience[] = ['agent', 'harness'];

function contentsOf(parts: CatalogueParts): Contents {
  const contents = ownContentsOf(parts);
  parts.connections.addTo(contents);
  return contents;
}

function ownContentsOf(parts: CatalogueParts): SessionEntries {
  const { definition, active } = parts;
  const hubs = sessionHubs(definition, parts);
  return {
    tools: sessionTools(definition, hubs),
    resources: sessionResources(definition, hubs),
    prompts: sessionPrompts(definition, active),
  };
}

function agentTools({ contents, patterns }: Served): ReturnType<typeof listTools> {
  return listTools(contents.tools, 'agent').filter(({ name }) => matchesToolPatterns(name, patterns));
}

function listed(served: Served, kind: keyof Contents, audience: Audience): string {
  const { contents } = served;
  if (kind === 'tools') {
    return JSON.stringify(audience === 'agent' ? agentTools(served) : listTools(contents.tools, audience));
  }
  if (kind === 'prompts') return JSON.stringify(listPrompts(contents.prompts, audience));
  const { resources } = contents;
  return JSON.stringify([listResources(resources, audience), listResourceTemplates(resources, audience)]);
}
