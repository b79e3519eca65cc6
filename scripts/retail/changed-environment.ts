import { serveMain } from 'proctor';
import { deskTools } from '../../environments/retail/desk/tools.ts';
import RetailEnvironment from '../../environments/retail/environment.ts';

/** The desk with one tool that answers otherwise: the one that `CHANGED_TOOL` names. */
export default class ChangedEnvironment extends RetailEnvironment {}

const changed = deskTools.find(({ name }) => name === process.env.CHANGED_TOOL);
if (changed === undefined) throw new Error(`CHANGED_TOOL is none of ${deskTools.map(({ name }) => name).join(', ')}`);
const run = changed.run.bind(changed);
Object.assign(changed, {
  run: (...given: Parameters<typeof run>) => {
    const result = run(...given);
    return typeof result === 'object' && result !== null ? { changed: true, ...result } : `${result} (changed)`;
  },
});

serveMain(import.meta, ChangedEnvironment);
