import {
  type ReadResourceResult,
  type Resource,
  type ResourceTemplateType,
  UriTemplate,
} from '@modelcontextprotocol/server';
import { SCENARIOS_URI } from '../../../contract/names.ts';
import type { Audience, EnvironmentDefinition, ResourceDefinition } from '../../authoring/definition.ts';
import { functionsUri, type SessionHub, toFunctionList } from './dispatcher.ts';
import { orProtocolError } from './failures.ts';
import { matchTemplate } from './match-template.ts';
import type { EnvironmentRequest } from './request.ts';
import { tasksResources } from './scenarios/declared-tasks.ts';
import { toScenarioList } from './scenarios/scenario-list.ts';

/** A resource of a session: a single resource, or a template whose URI has variables. */
export interface SessionResource {
  readonly definition: ResourceDefinition;
  readonly audience: Audience;
  readonly template: UriTemplate | undefined;
  /** True if reading it runs no author code, so it can be read before the initialize hook has run. */
  readonly isBuiltIn: boolean;
  /** Content of a built-in resource. */
  readonly content?: unknown;
  /** For a resource of a connected server: its entry there, and functions to read it and to subscribe to it. */
  readonly connected?: {
    readonly entry: Resource | ResourceTemplateType;
    read(uri: string, request: EnvironmentRequest): Promise<ReadResourceResult>;
    subscribe(uri: string): Promise<void>;
  };
}

/** The resource that a URI refers to, with the values of its variables. */
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
    // A definition that was not made with the registering methods may contain its own.
    if (resources.has(resource.uri)) continue;
    const content = resource.read();
    resources.set(resource.uri, { ...toSessionResource(resource), isBuiltIn: true, content });
  }
  for (const { resource, isList } of tasksResources(definition)) {
    // An author's function may need the results of the initialize hook, so it does not count as built in.
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

/** The resource that a URI refers to. Undefined if there is none. */
export function findResource(resources: ReadonlyMap<string, SessionResource>, uri: string): FoundResource | undefined {
  const exact = resources.get(uri);
  if (exact !== undefined && exact.template === undefined) return { resource: exact, variables: {} };
  for (const resource of resources.values()) {
    const variables = resource.template === undefined ? undefined : matchTemplate(resource.template, uri);
    if (variables !== undefined) return { resource, variables };
  }
  return undefined;
}

/** @throws ProtocolError if the author's code fails. */
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
