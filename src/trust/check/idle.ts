import type { Json } from '../../contract/json.ts';
import { answerWith, leastAnswer } from '../../model/reference-response.ts';
import { smallestValue } from '../../model/smallest-value.ts';
import type { Bench } from './bench.ts';
import type { Found, Subject } from './finding.ts';
import { answerSchemaOf } from './observed.ts';
import { foundOf, worstOf } from './passes.ts';

/**
 * Three agents that do nothing: one that answers nothing, one that answers the smallest value that the scenario takes, and
 * one that answers null in words. Where the answer is text they are two.
 */
export async function idle({ task, solved }: Subject, bench: Bench): Promise<readonly Found[]> {
  const schema = answerSchemaOf(solved);
  const least: Json | undefined = schema === null ? '' : smallestValue(schema);
  const answers = new Map<string, string>([['', 'an empty answer']]);
  if (least !== undefined) {
    const text = typeof least === 'string' ? least : JSON.stringify(least);
    if (text !== '') answers.set(text, `the smallest valid answer ${text.slice(0, 80)}`);
  }
  if (schema !== null) answers.set('null', 'the answer null');
  const isOver = () => bench.budget.isOver('idle', task);
  const found = await bench.each([...answers], { isOver }, async ([text, words]) => {
    const createModel = () => ({ name: 'proctor/noop', respond: async () => answerWith(text) });
    const played = await bench.play(task, { model: 'proctor/noop', createModel });
    const who = `An agent that does nothing and gives ${words}`;
    // The answer of the reference model: others are given by the check alone.
    const isUsual = text === leastAnswer(schema);
    const reproduce = isUsual ? bench.runCommand(task, 'proctor/noop') : bench.checkCommand(task);
    return foundOf({ finding: 'idle', task, played, who, reproduce }, bench, true);
  });
  return worstOf(found.flat());
}
