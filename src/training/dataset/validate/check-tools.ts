import { isJsonObject, type Json } from '../../../contract/json.ts';
import { preview } from '../../../support/schema/json-schema.ts';
import type { ChatRules } from './chat-rules.ts';
import type { Problems } from './line-problem.ts';

/** Largest number of tools that OpenAI accepts in a line. */
const MAX_TOOLS = 128;

/** @returns the names of the tools; undefined when they could not be read. */
export function checkTools(
  given: Json | undefined,
  path: string,
  rules: ChatRules,
  problems: Problems,
): ReadonlySet<string> | undefined {
  if (given === undefined) return new Set();
  const tools = rules.tools === 'text' ? parseTools(given) : given;
  if (!Array.isArray(tools) || tools.length === 0) {
    const wanted = rules.tools === 'text' ? 'the JSON text of a list of tools' : 'a list of tools';
    problems.error('tools', path, `has to be ${wanted}, or not to be there, got ${preview(given)}`);
    return undefined;
  }
  const names = new Set<string>();
  for (const [index, tool] of tools.entries()) {
    const name = checkTool(tool, `${path}.${index}`, problems);
    if (name === undefined) continue;
    if (names.has(name)) problems.error('tools', `${path}.${index}`, `has the name ${preview(name)} of another tool`);
    names.add(name);
  }
  if (tools.length > MAX_TOOLS) {
    problems.warning('tools', path, `has ${tools.length} tools: OpenAI takes at most ${MAX_TOOLS}`);
  }
  return names;
}

function parseTools(given: Json): Json | undefined {
  if (typeof given !== 'string') return undefined;
  try {
    return JSON.parse(given) as Json;
  } catch {
    return undefined;
  }
}

function checkTool(tool: Json, at: string, problems: Problems): string | undefined {
  const offered = isJsonObject(tool) ? tool.function : undefined;
  if (!isJsonObject(tool) || tool.type !== 'function' || !isJsonObject(offered)) {
    problems.error('tools', at, `has to be {type: "function", function}, got ${preview(tool)}`);
    return undefined;
  }
  const { name, parameters, description } = offered;
  if (parameters !== undefined && !isJsonObject(parameters)) {
    problems.error('tools', `${at}.function.parameters`, `has to be a JSON Schema, got ${preview(parameters)}`);
  }
  if (description !== undefined && typeof description !== 'string') {
    problems.error('tools', `${at}.function.description`, `has to be a text, got ${preview(description)}`);
  }
  if (typeof name === 'string' && /^[A-Za-z0-9_-]{1,64}$/.test(name)) return name;
  problems.error(
    'tools',
    `${at}.function.name`,
    `has to be 1 to 64 letters, digits, "_" and "-", got ${preview(name)}`,
  );
  return undefined;
}
