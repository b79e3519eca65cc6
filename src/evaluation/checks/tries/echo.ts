import { literalsOf } from '../../../models/gateway/reference/prompt-literals.ts';
import { preview } from '../../../support/schema/json-schema.ts';
import type { Finding, Subject } from '../finding.ts';
import { textOfPrompt } from '../player/observed.ts';
import { toFindings, worstOf } from '../player/passes.ts';
import type { SessionPlayer } from '../player/session-player.ts';

/** Tries agents that repeat the prompt, or one literal of it. */
export async function echo(
  { task, solved }: Subject,
  bench: SessionPlayer,
  isFirst: boolean,
): Promise<readonly Finding[]> {
  const prompt = textOfPrompt(solved.trace.prompt.filter(({ role }) => role === 'user'));
  const literals = literalsOf(prompt).slice(0, bench.tries(isFirst).literals);
  const isOver = () => bench.budget.isOver('echo', task);
  const found = await bench.each([undefined, ...literals], { isOver }, async (literal, index) => {
    const played = await bench.play(task, { finding: 'echo', model: 'proctor/echo', seed: index });
    const what = literal === undefined ? 'the prompt again' : `${preview(literal)}, which is in the prompt,`;
    const who = `An agent that calls nothing and says ${what}`;
    const reproduce = bench.runCommand(task, 'proctor/echo', index);
    return toFindings({ finding: 'echo', task, played, who, reproduce }, bench, false);
  });
  return worstOf(found.flat());
}
