import { literalsOf } from '../../model/prompt-literals.ts';
import { preview } from '../../schema/json-schema.ts';
import type { Bench } from './bench.ts';
import type { Found, Subject } from './finding.ts';
import { textOfPrompt } from './observed.ts';
import { foundOf, worstOf } from './passes.ts';

/** An agent that says the prompt again, and one for each literal of it. */
export async function echo({ task, solved }: Subject, bench: Bench): Promise<readonly Found[]> {
  const prompt = textOfPrompt(solved.trace.prompt.filter(({ role }) => role === 'user'));
  const found: Found[] = [];
  for (const [index, literal] of [undefined, ...literalsOf(prompt)].entries()) {
    const played = await bench.play(task, { model: 'proctor/echo', seed: index });
    const what = literal === undefined ? 'the prompt again' : `${preview(literal)}, which is in the prompt,`;
    const who = `An agent that calls nothing and says ${what}`;
    const reproduce = bench.runCommand(task, 'proctor/echo', index);
    found.push(...foundOf({ finding: 'echo', task, played, who, reproduce }, bench, false));
  }
  return worstOf(found);
}
