import type { Database } from '../store/database/database.ts';
import type { RouteRequest } from '../support/http/api/route.ts';

/** Row that a page is about. Without such a row the page is 404, as the route that it reads. */
export interface PageSubject {
  /** For people. */
  readonly kind: string;
  readonly id: string;
  isThere(database: Database, account: string): Promise<boolean>;
}

const SUBJECTS = {
  '/evaluations/:evaluation_id': { kind: 'evaluation', table: 'evaluations', column: 'evaluation_id' },
  '/training/:job_id': { kind: 'training job', table: 'training_jobs', column: 'job_id' },
  '/regrades/:job_id': { kind: 'regrade', table: 'regrades', column: 'job_id' },
  '/models/:name': { kind: 'registered model', table: 'registered_models', column: 'name' },
  '/checks/:check_id': { kind: 'check', table: 'checks', column: 'check_id' },
} as const;

/** @param path of the route; undefined for the page of a list, which is always there. */
export function subjectOf(path: string, { params }: Pick<RouteRequest, 'params'>): PageSubject | undefined {
  if (!Object.hasOwn(SUBJECTS, path)) return undefined;
  const { kind, table, column } = SUBJECTS[path as keyof typeof SUBJECTS]; // By the line above.
  const id = params[column] ?? '';
  return {
    kind,
    id,
    isThere: async ({ kysely }, account) => {
      const { ref } = kysely.dynamic;
      const found = await kysely
        .selectFrom(table)
        .select('account')
        .where(ref(column), '=', id)
        .where('account', '=', account)
        .executeTakeFirst();
      return found !== undefined;
    },
  };
}
