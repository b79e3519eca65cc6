import type { Evaluation } from '../../contract/scenario.ts';
import { preview } from '../../support/schema/json-schema.ts';
import type { ScenarioRun } from './definition.ts';
import { toEvaluation } from './evaluation.ts';
import { toPromptMessages } from './prompt-messages.ts';

/** The part of a generator that this file uses. */
type AuthorGenerator = Pick<AsyncGenerator<unknown, unknown, unknown>, 'next' | 'return'>;

/**
 * Runs an author's generator. The first yield is the prompt; the return value, after the answer, is the evaluation. A
 * second yield also counts as the evaluation (contract section 1, "Scenarios").
 *
 * @param label starts the messages of errors, such as `Scenario "count_to"`.
 * @param hasUser is true if a simulated user begins, so the prompt may be an empty list.
 * @throws TypeError if the author's function did not return a generator.
 */
export function runGenerator(label: string, generator: unknown, hasUser = false): ScenarioRun {
  if (!isGenerator(generator)) {
    throw new TypeError(`${label} has to be an async generator function: async function* (args) { ... }`);
  }
  let half: 'new' | 'prompted' | 'evaluated' = 'new';
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= finish(label, generator);
    return closing;
  };

  return {
    async prompt() {
      if (half !== 'new') throw new Error(`${label} was set up already`);
      half = 'prompted';
      const first = await generator.next();
      if (first.done) throw new Error(`${label} ended before it yielded a prompt`);
      return toPromptMessages(first.value, label, hasUser);
    },

    async evaluate(answer) {
      if (half !== 'prompted') {
        throw new Error(half === 'new' ? `${label} was not set up` : `${label} was evaluated already`);
      }
      half = 'evaluated';
      const second = await generator.next(answer);
      if (second.done) return toEvaluation(second.value);
      const evaluation = secondYield(label, second.value);
      await close();
      return evaluation;
    },

    close,
  };
}

/** Reads a second yield. If it is not an evaluation, it is usually a second prompt, and a scenario has only one. */
function secondYield(label: string, value: unknown): Evaluation {
  try {
    return toEvaluation(value);
  } catch (cause) {
    throw new TypeError(
      `${label}: the second yield has to be the evaluation, and it gave ${preview(value)}. One yield gives the whole prompt, and \`return\` the evaluation, such as \`return 1\``,
      { cause },
    );
  }
}

async function finish(label: string, generator: AuthorGenerator): Promise<void> {
  // The generator waits until a running half ends before it returns. If the generator has ended, this does nothing.
  const end = await generator.return(undefined);
  if (!end.done) throw new Error(`${label} yielded in its finally block, which nobody reads`);
}

function isGenerator(value: unknown): value is AuthorGenerator {
  return typeof value === 'object' && value !== null && 'next' in value && 'return' in value;
}
