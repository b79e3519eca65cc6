import { EnvironmentServer } from 'proctor';

/** An environment whose process ends, hangs or prints where it should not. */
export default function createMortal(): EnvironmentServer {
  const environment = new EnvironmentServer({ name: 'mortal' });
  let count = 0;
  environment.tool('increment', {}, () => {
    console.log('{"jsonrpc": "2.0", "garbage');
    count += 1;
    return count;
  });
  environment.tool('exit', {}, () => process.exit(9));
  environment.tool('hang', {}, () => new Promise<string>(() => {}));
  environment.tool('spin', {}, () => {
    for (;;) count += 1;
  });
  environment.scenario('count', {}, async function* () {
    yield 'Count to one.';
    return count === 1 ? 1 : 0;
  });
  environment.scenario('exits_in_setup', {}, async function* () {
    yield process.exit(3);
    return 0;
  });
  environment.scenario('hangs_in_setup', {}, async function* () {
    yield await new Promise<string>(() => {});
    return 0;
  });
  environment.scenario('blocks_in_evaluation', {}, async function* () {
    yield 'Wait.';
    for (;;) count += 1;
  });
  return environment;
}
