import {
  type CompleteRequest,
  type CompleteResult,
  ProtocolError,
  ProtocolErrorCode,
} from '@modelcontextprotocol/server';
import type { Completer, CompletionContext } from '../../authoring/definition.ts';
import { orProtocolError, unknownEntry } from './failures.ts';
import type { EnvironmentRequest } from './request.ts';
import type { SessionContents } from './session-catalogue.ts';

/** Maximum number of values in one answer, set by MCP. */
const MAX_VALUES = 100;

/** Finds the completers for the prompt or resource that a request names. @throws ProtocolError if it does not exist. */
export function findCompleters(
  { ref }: CompleteRequest['params'],
  { prompts, resources }: SessionContents,
): { readonly completers: ReadonlyMap<string, Completer>; readonly names: readonly string[] } {
  if (ref.type === 'ref/prompt') {
    const prompt = prompts.get(ref.name);
    if (prompt === undefined) throw unknownEntry('prompt', ref.name);
    return {
      completers: prompt.completers ?? new Map(),
      names: (prompt.entry.arguments ?? []).map(({ name }) => name),
    };
  }
  const resource = resources.get(ref.uri);
  if (resource === undefined) throw unknownEntry('resource', ref.uri);
  return {
    completers: resource.definition.completers ?? new Map(),
    names: resource.template === undefined ? [] : resource.template.variableNames,
  };
}

/** @throws ProtocolError for an argument that does not exist, and if the author's code fails. */
export async function complete(
  { argument, context }: CompleteRequest['params'],
  { completers, names }: ReturnType<typeof findCompleters>,
  request: EnvironmentRequest,
): Promise<CompleteResult> {
  const completer = completers.get(argument.name);
  if (completer === undefined) {
    if (names.includes(argument.name)) return { completion: { values: [], total: 0, hasMore: false } };
    const known = names.join(', ') || 'none';
    const hint = `There is no argument ${JSON.stringify(argument.name)}; there are: ${known}`;
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, hint);
  }
  const values = await orProtocolError(`The completion of ${argument.name}`, request, async () => {
    const { signal, log, session } = request.context;
    const given: CompletionContext = { arguments: context?.arguments ?? {}, signal, log, session };
    return suggest(completer, argument.value, given);
  });
  return {
    completion: {
      values: values.slice(0, MAX_VALUES),
      total: values.length,
      hasMore: values.length > MAX_VALUES,
    },
  };
}

async function suggest(completer: Completer, typed: string, context: CompletionContext): Promise<readonly string[]> {
  if (typeof completer === 'function') {
    const values: unknown = await completer(typed, context);
    if (Array.isArray(values)) return values.map(String);
    throw new TypeError('A completer has to give a list of texts');
  }
  const begun = typed.toLowerCase();
  return completer.filter((value) => value.toLowerCase().startsWith(begun));
}
