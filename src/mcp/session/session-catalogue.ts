import type { Audience, DefinitionChange, EnvironmentDefinition } from '../../environment/definition.ts';
import type { Report } from '../cleanup.ts';
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

export interface CatalogueParts extends ScenarioState {
  readonly definition: EnvironmentDefinition;
  /** What other servers add to it. The catalogue follows their changes. */
  readonly connections: SessionConnections;
  readonly changes: SessionChanges;
  readonly report: Report;
}

/**
 * What a session serves, by name. It follows what its author declares while the session is open, and says of each change
 * who may learn of it. Whoever made it closes it.
 */
export class SessionCatalogue {
  readonly #parts: CatalogueParts;
  readonly #stopListening: () => void;
  #contents: Contents | undefined;
  /** What was served before the changes that have not been told yet. */
  #before: Contents | undefined;
  #telling: NodeJS.Immediate | undefined;

  constructor(parts: CatalogueParts) {
    this.#parts = parts;
    this.#contents = contentsOf(parts);
    this.#stopListening = parts.definition.changes.on((change) => this.#follow(change));
    parts.connections.onchange = (isNews) => {
      if (isNews) this.#follow({ kind: 'declared' });
      else this.#contents = undefined;
    };
  }

  /** What the author has declared, in maps of the caller's own. */
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
    this.#before ??= this.#contents;
    this.#contents = undefined;
    // Ten declarations in a row are one change.
    this.#telling ??= setImmediate(() => this.#tell());
  }

  #tell(): void {
    const [before, after] = [this.#before, this.#current];
    this.#before = undefined;
    this.#telling = undefined;
    if (before === undefined) return;
    const { changes } = this.#parts;
    for (const kind of ['tools', 'resources', 'prompts'] as const) {
      const audience = AUDIENCES.find((one) => listed(before, kind, one) !== listed(after, kind, one));
      if (audience !== undefined) changes.emit({ kind, audience });
    }
    for (const [uri, { audience, isBuiltIn, content }] of after.resources) {
      const old = before.resources.get(uri);
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

function listed(contents: Contents, kind: keyof Contents, audience: Audience): string {
  if (kind === 'tools') return JSON.stringify(listTools(contents.tools, audience));
  if (kind === 'prompts') return JSON.stringify(listPrompts(contents.prompts, audience));
  const { resources } = contents;
  return JSON.stringify([listResources(resources, audience), listResourceTemplates(resources, audience)]);
}
