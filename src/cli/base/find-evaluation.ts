import type { EvaluationsClient } from '../../client/evaluations-client.ts';
import { EVALUATION_ID_PATTERN, type EvaluationSummary } from '../../contract/service/evaluation.ts';
import { UsageError } from './failure.ts';
import type { Place } from './place.ts';
import { isLast, takeLast } from './take-last.ts';
import { printable } from './terminal.ts';

/** The evaluations of a service or of this directory. */
export interface Evaluations {
  readonly client: EvaluationsClient;
  /** Address of the service. Undefined: the service of this directory. */
  readonly service: string | undefined;
}

export function evaluationsAt({ client, service }: Pick<Place, 'client' | 'service'>): Evaluations {
  return { client: client.evaluations, service };
}

/** The `--service` option that a suggested command needs. */
export function placeWords({ service }: Pick<Evaluations, 'service'>): string {
  return service === undefined ? '' : ` --service ${service}`;
}

/** Hint for commands that also accept traces. */
export const OR_A_TRACE = ' A trace is named by its whole id: "proctor traces list" shows them.';

/** Number of newest evaluations in which a prefix is searched. */
const MAX_LOOKED_AT = 2_000;

/**
 * Finds the id of an evaluation by `last`, an id, a name or a unique prefix of an id. Of several with one name it
 * takes the newest.
 *
 * @param hint text for the error message: other meanings of the argument.
 * @throws UsageError for an unknown evaluation, and for an ambiguous prefix.
 */
export async function findEvaluation(
  named: string,
  evaluations: { readonly client: Pick<EvaluationsClient, 'list' | 'all'>; readonly service: string | undefined },
  hint = '',
): Promise<string> {
  const { client } = evaluations;
  if (EVALUATION_ID_PATTERN.test(named)) return named;
  if (isLast(named)) {
    const [newest] = (await client.list({ limit: 1 })).data;
    if (newest !== undefined) return takeLast('evaluation', newest.evaluation_id);
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

async function withPrefix(
  typed: string,
  client: Pick<EvaluationsClient, 'all'>,
): Promise<readonly EvaluationSummary[]> {
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
