import { literalsOf } from '../../model/prompt-literals.ts';
import { preview } from '../../schema/json-schema.ts';
import type { Bench } from './bench.ts';
import type { Found, Subject } from './finding.ts';
import { textOfPrompt } from './observed.ts';
import { foundOf, worstOf } from './passes.ts';

/** An agent that says the prompt again, and one for each literal of it. */
export async function echo({ task, solved }: Subject, bench: Bench, isFirst: boolean): Promise<readonly Found[]> {
  const prompt = textOfPrompt(solved.trace.prompt.filter(({ role }) => role === 'user'));
  const literals = literalsOf(prompt).slice(0, bench.tries(isFirst).literals);
  const isOver = () => bench.budget.isOver('echo', task);
  const found = await bench.each([undefined, ...literals], { isOver }, async (literal, index) => {
    const played = await bench.play(task, { model: 'proctor/echo', seed: index });
    const what = literal === undefined ? 'the prompt again' : `${preview(literal)}, which is in the prompt,`;
    const who = `An agent that calls nothing and says ${what}`;
    const reproduce = bench.runCommand(task, 'proctor/echo', index);
    return foundOf({ finding: 'echo', task, played, who, reproduce }, bench, false);
  });
  return worstOf(found.flat());
}
