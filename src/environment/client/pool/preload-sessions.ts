import { preloadSchemas } from '@modelcontextprotocol/client';
import { preloadSchemaChecks } from '../../../support/schema/json-schema.ts';

/**
 * Loads what the first session would otherwise load. That takes a tenth of a second, in which hundreds of sessions may
 * wait.
 */
export function preloadSessions(): void {
  preloadSchemas();
  preloadSchemaChecks();
  new Headers(); // Node.js loads its `fetch` when the first `Headers` is made.
}
