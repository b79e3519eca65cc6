import { isDeepStrictEqual } from 'node:util';
import { isJsonObject, type Json, type JsonObject } from '../../../contract/json.ts';
import type { DatasetFormat } from '../../../contract/service/dataset.ts';
import { preview } from '../../../support/schema/json-schema.ts';
import { AXOLOTL_RULES, type ChatRules, LLAMA_FACTORY_RULES, OPENAI_RULES, TRL_RULES } from './chat-rules.ts';
import { checkMessages } from './check-messages.ts';
import { checkTools } from './check-tools.ts';
import { checkTrajectory } from './check-trajectory.ts';
import { type LineProblem, Problems } from './line-problem.ts';

/**
 * Finds everything in a line that the trainer would refuse, drop, or silently learn wrongly. A good line has no
 * problems.
 */
export function checkLine(format: DatasetFormat, line: JsonObject): readonly LineProblem[] {
  const problems = new Problems();
  switch (format) {
    case 'openai':
      checkChat(line, OPENAI_RULES, ['messages', 'tools', 'parallel_tool_calls'], problems);
      break;
    case 'openai-dpo':
      checkPair(line, problems);
      break;
    case 'trl':
      checkChat(line, TRL_RULES, ['messages', 'tools'], problems);
      break;
    case 'axolotl':
      checkChat(line, AXOLOTL_RULES, ['messages', 'tools'], problems);
      break;
    case 'llama-factory':
      checkChat(line, LLAMA_FACTORY_RULES, ['messages', 'tools'], problems);
      break;
    case 'atif':
      checkTrajectory(line, problems);
      break;
  }
  return problems.list;
}

function checkChat(line: JsonObject, rules: ChatRules, fields: readonly string[], problems: Problems): void {
  refuseUnknown(line, '', fields, problems);
  checkParallel(line, '', problems);
  const tools = checkTools(line.tools, 'tools', rules, problems);
  checkMessages(line.messages, { rules, tools, path: 'messages', isWhole: true, problems });
}

/** Checks a pair: the common part, and one assistant message on each side. */
function checkPair(line: JsonObject, problems: Problems): void {
  refuseUnknown(line, '', ['input', 'preferred_output', 'non_preferred_output'], problems);
  const { input, preferred_output: preferred, non_preferred_output: other } = line;
  if (!isJsonObject(input)) {
    problems.error('input', 'input', `has to be {messages, tools}, got ${preview(input)}`);
    return;
  }
  refuseUnknown(input, 'input', ['messages', 'tools', 'parallel_tool_calls'], problems);
  checkParallel(input, 'input.', problems);
  const tools = checkTools(input.tools, 'input.tools', OPENAI_RULES, problems);
  checkMessages(input.messages, { rules: OPENAI_RULES, tools, path: 'input.messages', isWhole: false, problems });
  const last = Array.isArray(input.messages) ? input.messages.at(-1) : undefined;
  if (isJsonObject(last) && last.role === 'assistant') {
    problems.error('last_message', 'input.messages', 'has to end before a message of the assistant');
  }
  for (const [path, side] of [
    ['preferred_output', preferred],
    ['non_preferred_output', other],
  ] as const) {
    checkSide(side, path, tools, problems);
  }
  if (isDeepStrictEqual(preferred, other)) {
    problems.error('same_sides', 'non_preferred_output', 'is the same as preferred_output: there is nothing to prefer');
  }
}

function checkSide(
  side: Json | undefined,
  path: string,
  tools: ReadonlySet<string> | undefined,
  problems: Problems,
): void {
  const [message] = Array.isArray(side) ? side : [];
  if (!Array.isArray(side) || side.length !== 1 || !isJsonObject(message) || message.role !== 'assistant') {
    problems.error('side', path, `has to be one message of the assistant, got ${preview(side)}`);
    return;
  }
  const calls = Array.isArray(message.tool_calls) ? message.tool_calls : [];
  if (calls.length > 0) problems.warning('side_calls', path, 'calls tools: OpenAI itself takes texts alone here');
  // The calls need no real answers, because this is the last message.
  const answers = calls.map((call) => ({
    role: 'tool',
    content: '',
    tool_call_id: isJsonObject(call) ? (call.id ?? null) : null,
  }));
  checkMessages([message, ...answers], { rules: OPENAI_RULES, tools, path, isWhole: false, problems });
}

function refuseUnknown(object: JsonObject, path: string, fields: readonly string[], problems: Problems): void {
  for (const field of Object.keys(object)) {
    if (fields.includes(field)) continue;
    const place = path === '' ? field : `${path}.${field}`;
    problems.error('unknown_field', place, `is not a field here: there are ${fields.join(', ')}`);
  }
}

function checkParallel(object: JsonObject, before: string, problems: Problems): void {
  const { parallel_tool_calls: parallel, tools } = object;
  if (parallel === undefined) return;
  const path = `${before}parallel_tool_calls`;
  if (typeof parallel !== 'boolean')
    problems.error('parallel', path, `has to be true or false, got ${preview(parallel)}`);
  if (tools === undefined) problems.error('parallel', path, 'may stand beside tools alone');
}
