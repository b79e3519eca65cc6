import {
  type ReadResourceResult,
  type Resource,
  type ResourceTemplateType,
  UriTemplate,
} from '@modelcontextprotocol/server';
import { SCENARIOS_URI } from '../../contract/names.ts';
import type { Audience, EnvironmentDefinition, ResourceDefinition } from '../../environment/definition.ts';
import { tasksResources } from './declared-tasks.ts';
import { functionsUri, type SessionHub, toFunctionList } from './dispatcher.ts';
import { orProtocolError } from './failures.ts';
import { matchTemplate } from './match-template.ts';
import type { EnvironmentRequest } from './request.ts';
import { toScenarioList } from './scenario-list.ts';

/** A resource of a session: one that is there for itself, or a template whose URI has variables. */
export interface SessionResource {
  readonly definition: ResourceDefinition;
  readonly audience: Audience;
  readonly template: UriTemplate | undefined;
  /** True for those that run no code of the author: they can be read before the initialize hook has run. */
  readonly isBuiltIn: boolean;
  /** Content of a built-in resource. */
  readonly content?: unknown;
  /** A resource of a connected server: its entry there, and the way to read it. */
  readonly connected?: {
    readonly entry: Resource | ResourceTemplateType;
    read(uri: string, request: EnvironmentRequest): Promise<ReadResourceResult>;
    subscribe(uri: string): Promise<void>;
  };
}

/** A resource that a URI means, with the values of its variables. */
export interface FoundResource {
  readonly resource: SessionResource;
  readonly variables: Readonly<Record<string, string>>;
}

export function sessionResources(
  definition: EnvironmentDefinition,
  hubs: ReadonlyMap<string, SessionHub>,
): Map<string, SessionResource> {
  const resources = new Map<string, SessionResource>();
  for (const resource of definition.resources.values()) resources.set(resource.uri, toSessionResource(resource));
  for (const resource of builtInResources(definition, hubs)) {
    if (resources.has(resource.uri)) continue; // A definition that was not made by registering may bring its own.
    const content = resource.read();
    resources.set(resource.uri, { ...toSessionResource(resource), isBuiltIn: true, content });
  }
  for (const { resource, isList } of tasksResources(definition)) {
    // A function of the author may need what the initialize hook has made ready.
    resources.set(resource.uri, { ...toSessionResource(resource), isBuiltIn: isList });
  }
  return resources;
}

export function listResources(resources: ReadonlyMap<string, SessionResource>): Resource[] {
  return [...resources.values()]
    .filter(({ template }) => template === undefined)
    .map(({ definition, connected }) => ({
      ...connected?.entry,
      uri: definition.uri,
      ...describeResource(definition),
    }));
}

export function listResourceTemplates(resources: ReadonlyMap<string, SessionResource>): ResourceTemplateType[] {
  return [...resources.values()]
    .filter(({ template }) => template !== undefined)
    .map(({ definition, connected }) => ({
      ...connected?.entry,
      uriTemplate: definition.uri,
      ...describeResource(definition),
    }));
}

/** Undefined for a URI that means none of them. */
export function findResource(resources: ReadonlyMap<string, SessionResource>, uri: string): FoundResource | undefined {
  const exact = resources.get(uri);
  if (exact !== undefined && exact.template === undefined) return { resource: exact, variables: {} };
  for (const resource of resources.values()) {
    const variables = resource.template === undefined ? undefined : matchTemplate(resource.template, uri);
    if (variables !== undefined) return { resource, variables };
  }
  return undefined;
}

/** @throws ProtocolError when the author's code fails. */
export function readResource(
  { definition, connected }: SessionResource,
  uri: string,
  variables: Readonly<Record<string, string>>,
  request: EnvironmentRequest,
): Promise<ReadResourceResult> {
  if (connected !== undefined) return connected.read(uri, request);
  return orProtocolError(`The resource ${uri}`, request, async () => {
    const value = await definition.read(variables, request.context);
    return { contents: [toContents(uri, value, definition.mimeType)] };
  });
}

function builtInResources(
  definition: EnvironmentDefinition,
  hubs: ReadonlyMap<string, SessionHub>,
): readonly (ResourceDefinition & { read(): unknown })[] {
  const scenarios = toScenarioList(definition);
  return [
    builtIn(SCENARIOS_URI, 'scenarios', 'The scenarios of this environment and their arguments.', 'agent', scenarios),
    ...[...hubs.values()].map((hub) => {
      const description = `The functions of the hub ${hub.name} and their arguments.`;
      return builtIn(functionsUri(hub), `${hub.name}_functions`, description, hub.audience, toFunctionList(hub));
    }),
  ];
}

function builtIn(uri: string, name: string, description: string, audience: Audience, value: unknown) {
  const read = () => value;
  return { uri, isTemplate: false, name, title: undefined, description, mimeType: 'application/json', audience, read };
}

function toSessionResource(definition: ResourceDefinition): SessionResource {
  const template = definition.isTemplate ? new UriTemplate(definition.uri) : undefined;
  return { definition, audience: definition.audience, template, isBuiltIn: false };
}

function describeResource({ name, title, description, mimeType }: ResourceDefinition) {
  return {
    name,
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(mimeType === undefined ? {} : { mimeType }),
  };
}

function toContents(uri: string, value: unknown, mimeType: string | undefined): ReadResourceResult['contents'][number] {
  if (typeof value === 'string') return { uri, mimeType: mimeType ?? 'text/plain', text: value };
  if (value instanceof Uint8Array) {
    const blob = Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64');
    return { uri, mimeType: mimeType ?? 'application/octet-stream', blob };
  }
  const text = JSON.stringify(value);
  if (text === undefined)
    throw new TypeError(`A resource has to be text, bytes, or what JSON can hold, got ${typeof value}`);
  return { uri, mimeType: mimeType ?? 'application/json', text };
}
