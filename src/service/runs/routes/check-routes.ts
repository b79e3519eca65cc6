import { z } from 'zod';
import {
  checkListSchema,
  findingLevelSchema,
  findingNameSchema,
  storedCheckSchema,
} from '../../../contract/service/check.ts';
import { listReports } from '../../../evaluation/checks/reports/list-reports.ts';
import { readReport } from '../../../evaluation/checks/reports/read-report.ts';
import { removeReport } from '../../../evaluation/checks/reports/remove-reports.ts';
import type { Database } from '../../../store/database/database.ts';
import { accountOf } from '../../../support/http/api/api-keys.ts';
import { defineRoute, type Route } from '../../../support/http/api/route.ts';
import { textQuerySchema } from '../../traces/traces-route.ts';

export interface CheckRoutesOptions {
  readonly database: Database;
  /** Address of the pages, without a slash at the end. */
  readonly appUrl: string;
}

const access = 'key-or-browser';

const listQuerySchema = z.object({ env_name: textQuerySchema, limit: z.int().optional(), cursor: textQuerySchema });
const findingsQuerySchema = listQuerySchema.extend({
  level: findingLevelSchema.optional(),
  finding: findingNameSchema.optional(),
});

/** Routes for reports of `proctor check`. A report of another account is not found. */
export function createCheckRoutes({ database, appUrl }: CheckRoutesOptions): readonly Route[] {
  const list = defineRoute({
    method: 'GET',
    path: '/v1/checks',
    summary: 'Reports of checks without scenarios and findings, newest first; 1 to 100 a page, default 50',
    access,
    query: listQuerySchema,
    response: checkListSchema,
    handle: async ({ queryValues, caller }) => ({
      body: await listReports(database, { account: accountOf(caller), appUrl }, queryValues),
    }),
  });
  const one = defineRoute({
    method: 'GET',
    path: '/v1/checks/:check_id',
    summary: 'The report of a check, with 1 to 1,000 findings a page, default 1,000: errors first',
    access,
    query: findingsQuerySchema,
    response: storedCheckSchema,
    about: { errors: ['check_not_found'] },
    async handle({ params, queryValues, caller }) {
      const address = { account: accountOf(caller), checkId: params.check_id ?? '', appUrl };
      return { body: await readReport(database, address, queryValues) };
    },
  });
  const remove = defineRoute({
    method: 'DELETE',
    path: '/v1/checks/:check_id',
    summary: 'Delete the report of a check; its traces stay',
    access,
    about: { statuses: { 204: 'It is gone' }, errors: ['check_not_found'] },
    async handle({ params, caller }) {
      await removeReport(database, accountOf(caller), params.check_id ?? '');
      return { status: 204 };
    },
  });
  return [list, one, remove];
}
