// Writes the page of the limits from the code that holds them: `npm run docs:limits`.
import { writeFileSync } from 'node:fs';
import { limitsReference } from './reference/limits.ts';

writeFileSync(new URL('../docs/reference/limits.md', import.meta.url), limitsReference());
