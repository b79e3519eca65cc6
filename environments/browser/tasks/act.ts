import type { SolutionCall, SolutionToolResult } from 'proctor';

/** One call, and the text of its result. @throws Error when the tool failed: a solution that goes wrong says where. */
export async function* act(
  name: string,
  args: SolutionCall['arguments'],
): AsyncGenerator<SolutionCall, string, SolutionToolResult> {
  const { content, is_error } = yield { name, arguments: args };
  const text = content.map((block) => (block.type === 'text' ? block.text : '')).join('');
  if (is_error) throw new Error(`${name} ${JSON.stringify(args)} failed: ${text}`);
  return text;
}
