export { untilAborted } from '../contract/until-aborted.ts';
