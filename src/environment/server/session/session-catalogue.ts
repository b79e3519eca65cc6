import type { ReadResourceResult } from '@modelcontextprotocol/server';
import { META } from '../../../contract/names.ts';
import { describeUnmatched, matchesToolPatterns } from '../../../support/text/tool-patterns.ts';
import type { Audience, DefinitionChange, EnvironmentDefinition } from '../../authoring/definition.ts';
import { isVisible } from '../audience.ts';
import type { Report } from '../cleanup.ts';
import type { ConnectingPeer, SessionConnections, SessionEntries } from './connections.ts';
import { listPrompts, type SessionPrompt, sessionPrompts } from './prompts.ts';
import {
  findResource,
  listResources,
  listResourceTemplates,
  type SessionResource,
  sessionResources,
} from './resources.ts';
import type { ActiveScenario } from './scenarios/active-scenario.ts';
import { type ScenarioState, sessionHubs } from './scenarios/scenario-functions.ts';
import type { SessionChanges } from './session-changes.ts';
import { listTools, type SessionTool, sessionTools } from './session-tools.ts';

/** The entries of the lists, by name and by URI. */
export interface SessionContents {
  readonly tools: ReadonlyMap<string, SessionTool>;
  readonly resources: ReadonlyMap<string, SessionResource>;
  readonly prompts: ReadonlyMap<string, SessionPrompt>;
}

/** The entries, with the tool patterns at that time. */
interface CatalogueState {
  readonly contents: SessionContents;
  /** Patterns of the tools that an agent may use. Undefined allows all. */
  readonly patterns: ActiveScenario['toolPatterns'];
}

export interface CatalogueParts extends ScenarioState {
  readonly definition: EnvironmentDefinition;
  /** The connected servers. The catalogue follows changes of their entries. */
  readonly connections: SessionConnections;
  readonly changes: SessionChanges;
  readonly report: Report;
}

/**
 * The entries that a session serves, by name. It follows the author's declarations while the session is open, and emits
 * each change with the audience that may learn of it. The caller that creates it has to close it.
 */
export class SessionCatalogue {
  readonly #parts: CatalogueParts;
  readonly #stopListening: () => void;
  #contents: SessionContents | undefined;
  /** The entries that an agent sees. */
  #agentContents: SessionContents | undefined;
  #patterns: CatalogueState['patterns'];
  /** The entries before the changes that were not emitted yet. */
  #before: CatalogueState | undefined;
  #telling: NodeJS.Immediate | undefined;

  constructor(parts: CatalogueParts) {
    this.#parts = parts;
    this.#contents = contentsOf(parts);
    this.#stopListening = parts.definition.changes.on((change) => this.#follow(change));
    parts.connections.onchange = (isNews) => {
      if (isNews) this.#follow({ kind: 'declared' });
      else this.#forget();
    };
    parts.active.onchange = () => this.#followScenario();
  }

  /** Connects to the servers of the environment. Their entries are then part of the catalogue. @throws Error */
  connect(peer: ConnectingPeer): Promise<void> {
    return this.#parts.connections.open(peer, () => ownContentsOf(this.#parts));
  }

  /** The entries that this audience may see and use now. A hidden entry is missing, as if it did not exist. */
  seenBy(audience: Audience): SessionContents {
    if (audience === 'harness') return this.#current;
    this.#agentContents ??= contentsForAgents({ contents: this.#current, patterns: this.#patterns });
    return this.#agentContents;
  }

  /** Names of all tools for agents, without the restrictions of the active scenario. */
  agentToolNames(): readonly string[] {
    return listTools(contentsForAgents({ contents: this.#current, patterns: undefined }).tools).map(({ name }) => name);
  }

  close(): void {
    this.#stopListening();
    this.#parts.active.onchange = undefined;
    clearImmediate(this.#telling);
  }

  get #current(): SessionContents {
    this.#contents ??= contentsOf(this.#parts);
    return this.#contents;
  }

  #follow(change: DefinitionChange): void {
    const { changes, report } = this.#parts;
    if (change.kind === 'resource') {
      const found = findResource(this.#current.resources, change.uri);
      if (found === undefined) report(`notifyResourceUpdated: there is no resource ${change.uri}`);
      else changes.emit({ kind: 'resource', uri: change.uri, audience: found.resource.audience });
      return;
    }
    this.#tellSoon();
    this.#forget();
  }

  #forget(): void {
    this.#contents = undefined;
    this.#agentContents = undefined;
  }

  /**
   * Adds warnings to the list of scenarios for a harness: one for each scenario whose `tools` match no tool of the
   * session.
   */
  withWarnings(read: ReadResourceResult): ReadResourceResult {
    const names = this.agentToolNames();
    const warnings = [...this.#parts.definition.scenarios.values()]
      .map((scenario) => describeUnmatched(scenario.name, scenario.tools, names))
      .filter((fault) => fault !== undefined);
    return warnings.length === 0 ? read : { ...read, _meta: { ...read._meta, [META.scenarioWarnings]: warnings } };
  }

  /** Follows the active scenario. Scenarios without tool patterns change nothing. */
  #followScenario(): void {
    const { toolPatterns } = this.#parts.active;
    if (toolPatterns === this.#patterns) return;
    this.#tellSoon();
    this.#patterns = toolPatterns;
    this.#agentContents = undefined;
  }

  /** Schedules an event. Call it before a change. Several changes in a row make one event. */
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

  #tellOfScenario(before: CatalogueState, after: CatalogueState): void {
    const named = (state: CatalogueState) => JSON.stringify([...contentsForAgents(state).tools.keys()]);
    if (named(before) === named(after)) return;
    this.#parts.changes.emit({ kind: 'tools', audience: 'agent', isForAgentsAlone: true });
  }

  #tellOfContents(before: CatalogueState, after: CatalogueState): void {
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

/** The agent comes first, because the harness sees everything that an agent sees. */
const AUDIENCES: readonly Audience[] = ['agent', 'harness'];

function contentsOf(parts: CatalogueParts): SessionContents {
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

function contentsForAgents({ contents, patterns }: CatalogueState): SessionContents {
  const visible = <Entry extends { readonly audience: Audience }>(entries: ReadonlyMap<string, Entry>) =>
    [...entries].filter(([, entry]) => isVisible(entry, 'agent'));
  return {
    tools: new Map(visible(contents.tools).filter(([name]) => matchesToolPatterns(name, patterns))),
    resources: new Map(visible(contents.resources)),
    prompts: new Map(visible(contents.prompts)),
  };
}

function listed(state: CatalogueState, kind: keyof SessionContents, audience: Audience): string {
  const { tools, resources, prompts } = audience === 'agent' ? contentsForAgents(state) : state.contents;
  if (kind === 'tools') return JSON.stringify(listTools(tools));
  if (kind === 'prompts') return JSON.stringify(listPrompts(prompts));
  return JSON.stringify([listResources(resources), listResourceTemplates(resources)]);
}
