import { EnvironmentServer } from 'proctor';
import { applyPatch, bash, editor } from 'proctor/tools';

const BROKEN = 'exports.add = (a, b) => a - b;\n';
const HIDDEN_TEST = "process.exit(require('../src/main.js').add(1, 2) === 3 ? 0 : 1);\n";

export default class Repair extends EnvironmentServer {
  readonly box = this.sandbox({
    image: 'node:22-slim',
    memory: '1GiB',
    network: 'none',
    files: { 'src/main.js': BROKEN },
  });

  constructor() {
    super({ name: 'repair', version: '1.0.0' });
    this.use(bash(this.box), editor(this.box), applyPatch(this.box));
    const solution = {
      calls: [{ name: 'bash', arguments: { command: "sed -i 's/-/+/' src/main.js" } }],
      answer: 'Done.',
    };
    this.scenario(
      'fix',
      { description: 'Make the tests pass.', solution: () => solution },
      async function* (this: Repair) {
        yield 'The function add in src/main.js is wrong. Repair it.';
        const clean = await this.box.fresh({ keep: ['src'] }); // nothing of the agent runs there
        await clean.copyIn({ 'check.js': HIDDEN_TEST }, 'test');
        return (await clean.exec(['node', 'test/check.js'])).exitCode === 0;
      },
    );
  }
}
