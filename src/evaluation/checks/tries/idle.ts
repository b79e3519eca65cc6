import type { Json } from '../../../contract/json.ts';
import { answerWith, leastAnswer } from '../../../models/gateway/reference/reference-response.ts';
import { smallestValue } from '../../../models/gateway/reference/smallest-value.ts';
import type { Finding, Subject } from '../finding.ts';
import { answerSchemaOf } from '../player/observed.ts';
import { toFindings, worstOf } from '../player/passes.ts';
import type { SessionPlayer } from '../player/session-player.ts';

/**
 * Tries three agents that do nothing. They answer with an empty text, with the smallest value that the scenario
 * accepts, and with a null. There are only two if the answer is text.
 */
export async function idle({ task, solved }: Subject, bench: SessionPlayer): Promise<readonly Finding[]> {
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
    const played = await bench.play(task, { finding: 'idle', model: 'proctor/noop', createModel });
    const who = `An agent that does nothing and gives ${words}`;
    // The reference model gives this answer. Only the check gives the others.
    const isUsual = text === leastAnswer(schema);
    const reproduce = isUsual ? bench.runCommand(task, 'proctor/noop') : bench.checkCommand(task);
    return toFindings({ finding: 'idle', task, played, who, reproduce }, bench, true);
  });
  return worstOf(found.flat());
}
