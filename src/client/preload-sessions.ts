import { preloadSchemas } from '@modelcontextprotocol/client';
import { preloadSchemaChecks } from '../schema/json-schema.ts';

/**
 * Loads and builds what the first session would else load and build, while hundreds may wait with it: a tenth of a second of
 * the event loop.
 */
export function preloadSessions(): void {
  preloadSchemas();
  preloadSchemaChecks();
  new Headers(); // Node.js loads its `fetch` for the first of them.
}
