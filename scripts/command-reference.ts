// Writes the page of the command line from the commands themselves: `npm run docs:commands`.
import { writeFileSync } from 'node:fs';
import { commandReference } from './reference/commands.ts';

writeFileSync(new URL('../docs/reference/command-line.md', import.meta.url), await commandReference());
