import type { Kysely } from 'kysely';
import type { Evaluation } from '../../../contract/scenario.ts';
import type { Grade } from '../../../contract/service/replay.ts';
import type { DatabaseSchema } from '../../database/tables/schema.ts';

/** Later evaluations of these traces, oldest first. Traces without any are left out. */
export async function readGrades(
  queries: Kysely<DatabaseSchema>,
  traceIds: readonly string[],
): Promise<ReadonlyMap<string, readonly Grade[]>> {
  if (traceIds.length === 0) return new Map();
  const rows = await queries
    .selectFrom('grades')
    .selectAll()
    .where('trace_id', 'in', traceIds)
    .orderBy('trace_id')
    .orderBy('number')
    .execute();
  const grades = new Map<string, Grade[]>();
  for (const { trace_id, at, evaluation, environment_hash } of rows) {
    const earlier = (grades.get(trace_id) ?? []).map((grade) => ({ ...grade, current: false }));
    const grade: Grade = {
      at: new Date(Number(at)).toISOString(),
      evaluation: JSON.parse(evaluation) as Evaluation, // A regrade wrote this JSON.
      environment_hash,
      current: true,
    };
    grades.set(trace_id, [...earlier, grade]);
  }
  return grades;
}
