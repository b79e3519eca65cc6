import { isDeepStrictEqual } from 'node:util';
import { isJsonObject, type Json } from '../../contract/json.ts';
import type { PromptMessage, VolatilePart } from '../../contract/scenario.ts';
import type { EnvironmentTool } from '../../contract/service/run.ts';
import type { ToolResult } from '../../environment/client/environment-client.ts';
import { matchesToolPatterns } from '../../support/text/tool-patterns.ts';

/** Compares the output of two sessions of one scenario, without its volatile parts. */
export interface Observations {
  samePrompt(before: readonly PromptMessage[], after: readonly PromptMessage[]): boolean;
  /** Compares tools by name, description and schema, in the server's order. */
  sameTools(before: readonly ToolOffer[], after: readonly ToolOffer[]): boolean;
  /** Compares two results of a tool call. Results of a volatile tool are equal if both or neither are errors. */
  sameResult(tool: string, before: ToolResult, after: ToolResult): boolean;
}

type ToolOffer = Pick<EnvironmentTool, 'name' | 'description' | 'input_schema'>;

/** @param volatile parts that the scenario's setup returned. */
export function createObservations(volatile: readonly VolatilePart[] = []): Observations {
  const patterns = volatile.filter((part) => typeof part === 'string');
  const fields = volatile.filter((part) => typeof part !== 'string');
  return {
    samePrompt: (before, after) => patterns.includes('prompt') || isSame(before, after),
    sameTools: (before, after) => patterns.includes('tools') || isSame(before.map(toOffer), after.map(toOffer)),
    sameResult(tool, before, after) {
      if (before.is_error !== after.is_error) return false;
      if (matchesToolPatterns(tool, patterns)) return true;
      const paths = fields
        .filter((field) => matchesToolPatterns(tool, [field.tool]))
        .map(({ path }) => path.split('.'));
      if (paths.length === 0 || before.structured_content === null || after.structured_content === null) {
        return isSame([before.content, before.structured_content], [after.content, after.structured_content]);
      }
      // The text of a result with structured content repeats it as JSON, so only one is compared.
      return isSame(without(before.structured_content, paths), without(after.structured_content, paths));
    },
  };
}

function toOffer({ name, description, input_schema }: ToolOffer) {
  return { name, description, input_schema };
}

function isSame(before: unknown, after: unknown): boolean {
  return isDeepStrictEqual(before, after);
}

/** The value without the members at the paths. `*` matches every member of an object or a list. */
function without(value: Json, paths: readonly (readonly string[])[]): Json {
  if (Array.isArray(value)) return value.map((member, index) => withoutMember(member, String(index), paths));
  if (!isJsonObject(value)) return value;
  const isNamed = (key: string) => paths.some(([first, ...rest]) => rest.length === 0 && isStep(first, key));
  const kept = Object.entries(value).filter(([key]) => !isNamed(key));
  return Object.fromEntries(kept.map(([key, member]) => [key, withoutMember(member, key, paths)]));
}

/** A list member at a path is emptied instead of removed, so that the others keep their places. */
function withoutMember(member: Json, key: string, paths: readonly (readonly string[])[]): Json {
  const deeper = paths.filter(([first]) => isStep(first, key)).map(([, ...rest]) => rest);
  if (deeper.some((rest) => rest.length === 0)) return null;
  return deeper.length === 0 ? member : without(member, deeper);
}

function isStep(step: string | undefined, key: string): boolean {
  return step === '*' || step === key;
}
