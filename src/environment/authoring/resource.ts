import { checkCompleters } from './completion.ts';
import type { Audience, Awaitable, Completer, ResourceDefinition, ToolContext } from './definition.ts';
import { checkPresentation, checkText } from './presentation.ts';

/** Options of a resource. */
export interface ResourceConfig<Uri extends string = string> {
  /** Name in lists. Default: the part of the URI after `://`. */
  readonly name?: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  /** The audience: `agent` (default), or `harness` to hide it from agents. */
  readonly audience?: Audience;
  /** Suggests values of the variables of a template: `{ id: ["1", "2"] }` or `{ id: (typed) => [...] }`. */
  readonly complete?: { readonly [Name in keyof UriVariables<Uri>]?: Completer };
}

/** The variables of a URI template: `notes://{folder}/{id}` has `folder` and `id`. */
export type UriVariables<Uri extends string> = string extends Uri
  ? Record<string, string>
  : { readonly [Name in VariableNames<Uri>]: string };

type VariableNames<Uri extends string> = Uri extends `${string}{${infer Name}}${infer Rest}`
  ? Name | VariableNames<Rest>
  : never;

/** Returns text, bytes (Uint8Array), or any other value, which is sent as JSON. */
export type ResourceHandler<Uri extends string> = (
  variables: UriVariables<Uri>,
  context: ToolContext,
) => Awaitable<unknown>;

/**
 * Compiles a resource, or a template of resources.
 *
 * @throws TypeError for a URI that is not `<scheme>://<name>`, a template beyond `{variable}`, or a bad handler.
 */
export function defineResource<Uri extends string>(
  uri: Uri,
  config: ResourceConfig<Uri>,
  handler: ResourceHandler<Uri>,
): ResourceDefinition {
  if (typeof uri !== 'string' || !URI_PATTERN.test(uri)) {
    throw new TypeError(`Resource ${JSON.stringify(uri)}: the URI has to be <scheme>://<name>, such as notes://today`);
  }
  if (typeof handler !== 'function') {
    throw new TypeError(`Resource "${uri}": the handler has to be a function, got ${typeof handler}`);
  }
  checkPresentation(`Resource "${uri}"`, config);
  checkText(`Resource "${uri}"`, 'name', config.name);
  const variableNames = checkVariables(uri);
  return {
    uri,
    isTemplate: uri.includes('{'),
    name: config.name ?? uri.slice(uri.indexOf('://') + 3),
    title: config.title,
    description: config.description,
    mimeType: config.mimeType,
    audience: config.audience ?? 'agent',
    completers: checkCompleters(`Resource "${uri}"`, config.complete, variableNames),
    // The server matched the URI against this template, so the variables have the names in its type.
    read: (variables, context) => handler(variables as UriVariables<Uri>, context),
  };
}

const URI_PATTERN = /^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^\s]+$/;
const VARIABLE = /\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** Checks the variables of a template and returns their names. */
function checkVariables(uri: string): readonly string[] {
  const names = [...uri.matchAll(VARIABLE)].map(([, name]) => name as string);
  const repeated = names.find((name, index) => names.indexOf(name) !== index);
  if (repeated !== undefined) throw new TypeError(`Resource "${uri}": the variable {${repeated}} is there twice`);
  if (/[{}]/.test(uri.replace(VARIABLE, ''))) {
    throw new TypeError(`Resource "${uri}": a template has variables such as {id}: letters, digits and "_" in braces`);
  }
  return names;
}
