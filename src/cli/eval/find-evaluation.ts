import { EVALUATION_ID_PATTERN, type EvaluationSummary } from '../../contract/evaluation.ts';
import { UsageError } from '../failure.ts';
import { printable } from '../terminal.ts';
import { type Evaluations, placeWords } from './open-evaluations.ts';

/** Words for commands that take traces too. */
export const OR_A_TRACE = ' A trace is named by its whole id: "proctor traces list" shows them.';

/** Evaluations that a prefix is looked for in: the newest. */
const MAX_LOOKED_AT = 2_000;

/**
 * The id of the evaluation that a person names: `last`, an id, a name (the newest one that has it), or the beginning of an
 * id that no other one has.
 *
 * @param hint what else the person may have meant, for messages.
 * @throws UsageError for one that there is not, and for a beginning that several have.
 */
export async function findEvaluation(named: string, evaluations: Evaluations, hint = ''): Promise<string> {
  const { client } = evaluations;
  if (EVALUATION_ID_PATTERN.test(named)) return named;
  if (named === 'last') {
    const [newest] = (await client.list({ limit: 1 })).data;
    if (newest !== undefined) return newest.evaluation_id;
    throw new UsageError(`There is no evaluation yet: "proctor eval <taskset> --model <model>" makes one.${hint}`);
  }
  const [byName] = (await client.list({ name: named, limit: 1 })).data;
  if (byName !== undefined) return byName.evaluation_id;
  const found = /^(eval_)?[0-9a-f]{1,31}$/.test(named) ? await withPrefix(named, client) : [];
  const [first, second] = found;
  if (first !== undefined && second === undefined) return first.evaluation_id;
  if (first === undefined) {
    throw new UsageError(
      `There is no evaluation ${JSON.stringify(printable(named, 80))}: it is neither an id, nor the beginning of one, nor a name. "proctor eval list${placeWords(evaluations)}" shows them.${hint}`,
    );
  }
  throw new UsageError(
    `Several evaluations begin with ${named}: ${found.map(({ evaluation_id }) => evaluation_id).join(', ')}.`,
  );
}

async function withPrefix(typed: string, client: Evaluations['client']): Promise<readonly EvaluationSummary[]> {
  const prefix = typed.startsWith('eval_') ? typed : `eval_${typed}`;
  const found: EvaluationSummary[] = [];
  let looked = 0;
  for await (const evaluation of client.all({ limit: 100 })) {
    if (evaluation.evaluation_id.startsWith(prefix)) found.push(evaluation);
    looked += 1;
    if (found.length > 4 || looked >= MAX_LOOKED_AT) break;
  }
  return found;
}
